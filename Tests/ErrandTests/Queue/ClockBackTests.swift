import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("The server's clock is put back by an hour") struct ClockBackTests {
    private static let kinds = #"""
        [{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2, "is_whole": true,
            "dependency": "storage"}]
        """#

    @Test("jobs of a dependency that was closed before it are released all the same")
    func closed() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 5))
            try await database.execute("select errand.dependency_open('storage', null, 'moves')")
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute("select errand.dependency_close('storage')")
            try await database.execute(
                """
                update errand.dependency
                set closed_at = now() + interval '1 hour', released_at = now() + interval '1 hour'
                """)
            #expect(
                try await database.becomes(
                    "count(*) = 5 from errand.job where state = 'available'", after: database.promote))
        }
    }

    @Test("jobs that found a dependency down before it come back")
    func failed() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(Noop())
            try await worker.end(
                worker.claim(1), .parked(dependency: "storage", until: nil, reason: "connection refused"))
            #expect(try await database.count("from errand.job where state = 'parked'") == 1)
            try await database.execute("update errand.dependency set failed_at = now() + interval '1 hour'")
            #expect(
                try await database.becomes(
                    "count(*) = 1 from errand.job where state = 'available'", after: database.promote))
        }
    }

    @Test("a rate that was used up before it has room again after its span")
    func rate() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_rate('default', '1 second', 2)")
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 4))
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(4).count == 2)
            try await database.execute(
                "update errand.rate_log set last_at = array(select at + interval '1 hour' from unnest(last_at) as at)")
            // Earlier starts count, so there are never more than allowed.
            #expect(try await worker.claim(4).isEmpty)
            var count = 0
            let start = ContinuousClock.now
            while count < 2, ContinuousClock.now - start < .seconds(60) {
                try await Task.sleep(for: .milliseconds(50))
                count += try await worker.claim(4).count
            }
            #expect(count == 2)
        }
    }

    @Test("a worker that died before it is found dead when its lease is over")
    func rescue() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await Queue(database: database).enqueue(Noop())
            #expect(try await worker.claim(1).count == 1)
            try await database.execute(
                """
                update errand.worker
                set heartbeat_at = now() + interval '1 hour', lease = '300 ms', heartbeat_interval = '100 ms'
                """)
            let isBack = "exists (select from errand.job where state = 'available' and crashes = 1)"
            #expect(
                try await database.becomes(isBack) {
                    try await database.execute("select errand.rescue_v1()")
                })
        }
    }
}
