import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("One process for several cells") struct ServeCellsTests {
    /// A database that can't be reached, one without a schema, and two that work.
    private func withCells(_ body: ([String], [Database]) async throws -> Void) async throws {
        try await withTestDatabase { first, one in
            try await withTestDatabase { second, other in
                try await withTestDatabase { empty, third in
                    try await empty.dropSchemas()
                    let urls = try [one, other, third].map { try TestServer.url(of: $0) }
                    try await body(urls + ["postgresql://errand:hunter2@127.0.0.1:1/gone"], [first, second])
                }
            }
        }
    }

    @Test(
        "cells that are down or have no schema don't keep the others from working, and are named",
        arguments: ["worker", "run"])
    func others(command: String) async throws {
        try await withCells { urls, databases in
            for database in databases { try await database.execute("select errand.enqueue('noop')") }
            let haveRun = Task {
                var isDone = true
                for database in databases {
                    isDone = try await database.hasEnded(jobs: 1) && isDone
                }
                return isDone
            }
            let program = try await Program.run(
                [command], settings: ["DATABASE_URL": urls.joined(separator: " "), "ERRAND_LOG_FORMAT": "json"],
                signals: [("run `errand migrate`", SIGTERM)], after: haveRun)
            #expect(program.code == 0, "\(program.errors)")
            #expect(try await haveRun.value)
            let lines = try program.jsonLines()
            let registered = lines.filter { $0["message"] as? String == "registered" }
            #expect(Set(registered.compactMap { $0["cell"] as? String }).count == 2)
            let waiting = lines.filter { $0["message"] as? String == "waiting for the database" }
            #expect(waiting.contains { $0["cell"] as? String == "127.0.0.1:1/gone" })
            #expect(waiting.contains { ($0["reason"] as? String)?.contains("`errand migrate`") == true })
            #expect(!program.errors.contains("hunter2"))
        }
    }

    @Test("migrate does each in turn, ends at the first that fails, and names it")
    func migrate() async throws {
        try await withCells { urls, _ in
            let all = try await Program.run(
                ["migrate"],
                settings: ["DATABASE_URL": urls.prefix(3).joined(separator: " ")])
            #expect(all.code == 0, "\(all.errors)")
            #expect(all.output.contains("applied migration") && all.output.contains("up to date"))
            let failing = try await Program.run(
                ["migrate"], settings: ["DATABASE_URL": urls[3] + " " + urls[0]])
            #expect(failing.code == 69 && failing.error.hasPrefix("errand: 127.0.0.1:1/gone: "), "\(failing.errors)")
            #expect(!failing.errors.contains("hunter2"))
        }
    }
}

extension Database {
    /// Waits until that many jobs have ended, at most a minute.
    fileprivate func hasEnded(jobs: Int) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(60) {
            if try await query("select count(*) from errand.history").scalar(Int.self) >= jobs { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
