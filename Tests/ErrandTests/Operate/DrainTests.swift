import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("A worker is drained") struct DrainTests {
    @Test("it claims nothing, also under its next id, and completes what it has; another worker goes on")
    func claimsNothing() async throws {
        try await withTestDatabase { database, _ in
            for _ in 1...3 { try await Queue(database: database).enqueue(Noop()) }
            let (worker, other) = (try await ManualWorker(database), try await ManualWorker(database))
            let held = try await worker.claim(1)
            #expect(held.count == 1)
            let drained = "select worker, running from errand.drain_worker(\(worker.id), 'its host restarts')"
            #expect(try await database.text(drained, as: "errand_ops") == "hand|0")
            #expect(try await worker.claim(3).isEmpty)
            #expect(try await worker.end(held) == [])
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 1)
            let next = try await database.query(
                Statement(
                    "select worker_id from errand_internal.register_worker_v1('hand', '1', '1 min', '{default}', '[]', $1)",
                    [[worker.id]])
            ).scalar(Int64.self)
            #expect(try await ManualWorker(database, id: next).claim(3).isEmpty)
            let status = "select drained_reason from errand.workers where drained_at is not null"
            #expect(try await database.text(status, as: "errand_monitor") == "its host restarts\nits host restarts")
            #expect(try await other.claim(1).count == 1)
            // A restart is a registration without earlier ids.
            #expect(try await ManualWorker(database).claim(1).count == 1)
            let audit = "select action, reason, target ->> 'worker' from errand.audit"
            #expect(try await database.text(audit) == "drain_worker|its host restarts|hand")
        }
    }

    @Test("a job that only drained workers could run is explained with the call that undrains one; then it is claimed")
    func undrain() async throws {
        try await withTestDatabase { database, _ in
            let kinds = #"[{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2}]"#
            let worker = try await ManualWorker(database, kinds: kinds)
            try await Queue(database: database).enqueue(Noop())
            try await database.execute(Statement("select errand.drain_worker($1, 'its host restarts')", [worker.id]))
            let reason = try await database.text("select code, hint from errand.explain(1)")
            #expect(reason == "no_worker|select errand.undrain_worker(\(worker.id))")
            #expect(try await database.text("select workers from errand.queues") == "0")
            for _ in 1...2 {
                try await database.execute(
                    Statement("select errand.undrain_worker($1, reason => 'no restart')", [worker.id]))
            }
            #expect(try await database.text("select code from errand.explain(1)") == "next")
            #expect(try await worker.claim(1).count == 1)
            #expect(try await database.count("from errand.audit where action = 'undrain_worker'") == 1)
            #expect(try await database.refusal(of: "select errand.undrain_worker(99)") == "ER404")
            #expect(try await database.refusal(of: "select errand.drain_worker(99, 'x')") == "ER404")
            let silent = "select errand.drain_worker(\(worker.id), ' ')"
            #expect(try await database.refusal(of: silent) == "ER422")
        }
    }
}
