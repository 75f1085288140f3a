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
                    answer = try psql(sql, of: configuration, as: "errand_ops")
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
}
