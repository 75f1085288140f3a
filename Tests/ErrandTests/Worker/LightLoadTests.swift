import ErrandTestKit
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("A worker with little to do") struct LightLoadTests {
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
