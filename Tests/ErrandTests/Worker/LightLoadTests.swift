import ErrandTestKit
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("A worker with little to do") struct LightLoadTests {
    private let queues = ["a": 2, "b": 2, "c": 2, "d": 2, "e": 2]

    @Test("five queues share connections for their claims")
    func connections() async throws {
        try await withWorker(configure: { $0.queues = queues }) { database, _ in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            func work() async throws {
                for queue in queues.keys.sorted() {
                    try await Task.sleep(for: .milliseconds(150))
                    try await database.execute(Statement("select errand.enqueue('noop', queue => $1)", [queue]))
                    #expect(try await database.drains())
                }
            }
            try await work()
            // Two on a quiet machine. Where claims take their time there are more: without sharing, one for each queue and more.
            let areFew = try await database.becomes(
                """
                count(*) between 1 and 4 from pg_stat_activity
                where datname = current_database() and query like '%errand.claim%' and pid <> pg_backend_pid()
                """, within: .seconds(120), after: work)
            #expect(areFew)
        }
    }

    @Test("forged wake-ups cost at most 20 claims a second, and it starts a job soon all the same")
    func forged() async throws {
        let claims = Mutex(0)
        try await withWorker(configure: {
            $0.queues = ["default": 10]
            $0.onRoundTrip = { _ in claims.withLock { $0 += 1 } }
        }) { database, queue in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            let before = claims.withLock(\.self)
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .seconds(3) {
                try await database.execute(
                    "select pg_notify('errand_wake', i::text) from generate_series(1, 20) as i")
            }
            let took = ContinuousClock.now - start
            #expect(claims.withLock(\.self) - before <= 20 * Int(took / .seconds(1) + 1))
            try await queue.enqueue(Noop())
            #expect(try await database.drains())
        }
    }
}
