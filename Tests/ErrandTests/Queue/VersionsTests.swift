import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Workers of two versions") struct VersionsTests {
    @Test("a worker of the version before works on beside a new one: limits, guards and dependencies hold for both")
    func together() async throws {
        try await withTestDatabase(connections: 8) { database, _ in
            try await database.makeGuard()
            try await database.execute("select errand.set_limit('a', 2)")
            let queue = Queue(database: database)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 100))
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 40), .limited(by: "a"))
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 20), .guarded(by: "wanted"))
            let most = try await withThrowingTaskGroup(of: Int.self) { group in
                for isOld in [true, true, false, false] {
                    group.addTask {
                        isOld ? try await work(asOld: database) : try await work(asNew: database)
                    }
                }
                return try await group.reduce(0, max)
            }
            #expect(most <= 2)
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 140)
            #expect(try await database.count("from errand.history where state = 'obsolete' and attempt = 0") == 20)
        }
    }

    @Test("an older worker that registers leaves what it doesn't know of a kind as it is")
    func kinds() async throws {
        try await withTestDatabase { database, _ in
            let new =
                #"[{"name": "noop", "queue": "q", "max_attempts": 3, "priority": 2, "is_whole": true, "max_running": 4}]"#
            let old = #"[{"name": "noop", "queue": "q", "max_attempts": 5, "priority": 2}]"#
            _ = try await HandWorker(database, kinds: new)
            _ = try await HandWorker(database, kinds: old)
            #expect(try await database.count("from errand.kind where max_attempts = 5 and max_running = 4") == 1)
            #expect(
                try await database.count("from errand.limit where limit_key = 'kind/noop' and max_running = 4") == 1)
        }
    }

    private func work(asNew database: Database) async throws -> Int {
        let worker = try await HandWorker(database)
        var most = 0
        while try await database.count("from errand.job") > 0 {
            let jobs = try await worker.claim(10)
            most = max(most, try await limited(database))
            try await worker.end(jobs)
            try await database.promote()
        }
        return most
    }

    /// As the version before called them, word for word.
    private func work(asOld database: Database) async throws -> Int {
        let id = try await HandWorker(database).id
        var most = 0
        while try await database.count("from errand.job") > 0 {
            let rows = try await database.query(
                Statement(
                    "select * from errand.claim_v1($1, $2, $3, $4::int4, $5, $6, $7)",
                    ["default", ["noop"], id, 10, [Int64](repeating: 0, count: 4), [1, 2, 3, 4] as [Int16], true]))
            most = max(most, try await limited(database))
            var jobs: [(id: Int64, line: Int64)] = []
            for row in rows {
                let (job, line, _, _, _, _, _, _, _, _, high, latest, snapshot) = try row.decode(
                    Int64?.self, Int64?.self, String?.self, Int16?.self, Int16?.self, Int16?.self, Timestamp?.self,
                    Timestamp?.self, Timestamp?.self, JSONB?.self, Int64.self, Int64.self, Snapshot.self)
                #expect(high >= 0 && latest > 0 && snapshot.xmax > 0)
                if let job, let line { jobs.append((job, line)) }
            }
            for (place, job) in jobs.enumerated() {
                let end =
                    place % 2 == 0
                    ? Statement(
                        "select refused || locked from errand.finish_v1($1, $2, $3)", [id, [job.id], [job.line]])
                    : Statement(
                        "select errand.settle_v1($1, $2, $3, $4, $5, $6, $7)",
                        [
                            id, [job.id], [job.line], ["succeeded"], [String?.none], [Int64?.none],
                            [JSONB("1")] as [JSONB?],
                        ])
                #expect(try await database.query(end).scalar([Int64].self) == [])
            }
            try await database.promote()
        }
        return most
    }

    private func limited(_ database: Database) async throws -> Int {
        try await database.count("from errand.job where state = 'running' and limit_key is not null")
    }
}
