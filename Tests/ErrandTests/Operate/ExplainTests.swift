import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Why a job is not running") struct ExplainTests {
    @Test("each reason is found, the first obstacle comes first, and the hint fixes it")
    func reasons() async throws {
        try await withTestDatabase { database, _ in
            func codes(_ id: Int) async throws -> String {
                try await database.text("select code from errand.explain(\(id))").replacing("\n", with: " ")
            }
            #expect(try await codes(1) == "unknown")
            try await Queue(database: database).enqueue(Noop())
            #expect(try await codes(1) == "no_worker")
            let worker = try await database.enter(kinds: "other")
            #expect(try await codes(1) == "unknown_kind")
            _ = try await database.enter()
            #expect(try await codes(1) == "next")
            try await database.execute("select errand.pause_queue('default', 'storage moves')")
            #expect(try await codes(1) == "paused")
            let hint = try await database.text("select hint from errand.explain(1)")
            try await database.execute(Statement(hint))
            #expect(try await codes(1) == "next")

            try await Queue(database: database).enqueue(Noop(), .after(.seconds(3600)))
            #expect(try await codes(2) == "not_due")
            try await database.execute("update errand.job set run_at = now() - interval '1 min' where id = 2")
            #expect(try await codes(2) == "not_promoted")
            try await database.promote()
            #expect(try await codes(2) == "behind")
            #expect(
                try await database.text("select detail like '1 due jobs are ahead%' from errand.explain(2)") == "true")

            try await database.take(worker)
            #expect(try await codes(1) == "running")
            try await database.execute("update errand.worker set heartbeat_at = now() - interval '2 hours'")
            #expect(try await codes(1) == "worker_lost")
        }
    }

    @Test("a finished job shows its outcome, and the obstacle to a retry")
    func ended() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await Queue(database: database).enqueue(Noop(), .unique("one"))
            try await database.take(worker)
            try await database.fail(worker, with: "bucket answered 404")
            let failed =
                "select code, detail like '%after 1 of 3 attempts: bucket answered 404' from errand.explain(1)"
            #expect(try await database.text(failed) == "failed|true")
            try await Queue(database: database).enqueue(Noop(), .unique("one"))
            #expect(try await database.text("select code from errand.explain(1)") == "failed\nunique_conflict")
            try await database.execute("select errand.cancel('{2}', 'make room')")
            #expect(
                try await database.text("select code, detail like '%: make room' from errand.explain(2)")
                    == "cancelled|true")
            try await database.execute(Statement(try await database.text("select hint from errand.explain(1)")))
            #expect(try await database.text("select code from errand.explain(1)") == "next")
        }
    }

    @Test("the hint for a payload that does not fit corrects it before the retry")
    func unfitPayload() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await Queue(database: database).enqueue(Noop())
            try await database.take(worker)
            try await database.fail(worker, with: "\(UnfitPayload(kind: Noop.kind, CancellationError()))")
            let hint = try await database.text("select hint from errand.explain(1)")
            #expect(
                hint == "select errand.edit_job(1, '{…}', reason => '…'); select * from errand.retry_job(1, '…')")
        }
    }

    @Test("open circuits, full limits and used rates name the blocking jobs")
    func limits() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            for _ in 1...2 { try await Queue(database: database).enqueue(Noop()) }
            try await database.take(worker)
            try await Queue(database: database).enqueue(Noop())
            try await database.execute(
                """
                update errand.job set limit_key = 'tenant/4';
                """)
            try await database.execute("insert into errand.limit (limit_key, max_running) values ('tenant/*', 2)")
            try await database.execute(
                """
                insert into errand.limit_slot (job_id, queue_position, admitted_at, slot, limit_key)
                select id, queue_position, now(), id, limit_key from errand.job where state = 'running'
                """)
            let full = "select code, detail from errand.explain(3) limit 1"
            #expect(
                try await database.text(full)
                    == "limit_full|the limit 'tenant/4' allows 2 at once and 2 run: job 1 on host:1, job 2 on host:1")
            try await database.execute("update errand.kind set circuits = '{apns}' where name = 'noop'")
            try await database.execute(
                "insert into errand.circuit (name, opened_at, opened_by, reason) values ('apns', now(), 'ops', 'down')"
            )
            #expect(try await database.text("select code from errand.explain(3)") == "circuit_open\nlimit_full")
            #expect(
                try await database.text("select name, state, parked from errand.circuits") == "apns|open|0")
            #expect(
                try await database.text("select name, allowed, running, is_full from errand.limits order by name")
                    == "tenant/*|2|0|false\ntenant/4|2|2|true")
            try await database.execute("insert into errand.rate (queue, per, allowed) values ('default', '1 min', 5)")
            try await database.execute(
                "insert into errand.rate_log values ('default', array[now()], array[now()], '{5}')")
            #expect(
                try await database.text("select code from errand.explain(3)") == "circuit_open\nlimit_full\nrate")
        }
    }
}
