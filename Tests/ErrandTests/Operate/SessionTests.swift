import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

@Suite("The session of docs/operations.md") struct SessionTests {
    /// What a reader meets in the page, from top to bottom.
    enum Part: Equatable {
        case sql(String)
        case answer(String)
        case meanwhile(String)
    }

    @Test("psql as errand_ops finds why a job doesn't run, mends it and retries it, and answers what the page shows")
    func session() async throws {
        let page = URL(fileURLWithPath: #filePath).appending(path: "../../../../docs/operations.md").standardizedFileURL
        let parts = Self.parts(of: try String(contentsOf: page, encoding: .utf8))
        #expect(parts.count { if case .answer = $0 { true } else { false } } >= 6)
        try await withTestDatabase { database, configuration in
            let worker = try await database.enter(kinds: "image_compression", queue: "images")
            try await database.execute("select errand.enqueue('image_compression', unique_key => 'photo/17')")
            try await database.execute("select errand.pause('images', 'storage is being moved')")
            var answer = ""
            for part in parts {
                switch part {
                case .sql(let sql):
                    // Directly: the role comes in `options`, which poolers refuse.
                    answer = try Self.psql(sql, at: TestServer.url(of: configuration, directly: true))
                case .answer(let expected): #expect(answer == expected)
                case .meanwhile(let event):
                    try await database.take(worker, queue: "images", kinds: "image_compression")
                    if event == "the worker claims it and fails" {
                        try await database.fail(worker, with: "bucket 'photos' answered 404 NoSuchBucket")
                    } else {
                        #expect(event == "the worker claims it and succeeds")
                        try await database.execute(
                            "select errand.finish_v1(worker_id, array[id], array[line]) from errand.job")
                    }
                }
            }
        }
    }

    /// The fenced blocks and the remarks that say what others do meanwhile.
    private static func parts(of page: String) -> [Part] {
        page.matches(of: /```(sql|text)\n((?s:.*?))```|<!-- meanwhile: (.*?) -->/).map { match in
            if let event = match.3 { return .meanwhile(String(event)) }
            let body = String(match.2 ?? "")
            return match.1 == "sql" ? .sql(body) : .answer(body)
        }
    }

    /// What psql answers to a script, for somebody who has the role errand_ops.
    private static func psql(_ script: String, at url: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", url]
        process.environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "PGOPTIONS": "-c role=errand_ops",
        ]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(script.utf8))
        try input.fileHandleForWriting.close()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: answer, as: UTF8.self)
    }
}
