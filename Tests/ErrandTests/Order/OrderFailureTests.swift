import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("What the end of a job does to those behind it in its order key") struct OrderFailureTests {
    private func fails(_ jobs: [ClaimedJob], of worker: ManualWorker) async throws {
        try await worker.end(jobs, as: { .failed($0, error: "x") })
    }

    @Test("each way in which a job ends lets the next one go, in the same transaction")
    func ways() async throws {
        let call = "select * from errand"
        let ways: [(String, (ManualWorker, Int64) async throws -> Void)] = [
            ("", { worker, _ in try await worker.end(worker.start()) }),
            (", if_head_fails => 'go_on'", { worker, _ in try await fails(worker.start(), of: worker) }),
            (
                ", if_head_fails => 'go_on', max_attempts => 1",
                { worker, _ in
                    let other = try await ManualWorker(worker.database)
                    #expect(try await other.start().count == 1)
                    try await other.dies()
                }
            ),
            ("", { worker, _ in try await worker.end(worker.start(), as: { .cancelled($0, reason: "x") }) }),
            ("", { worker, id in _ = try await worker.database.query(Statement("\(call).cancel('{\(id)}', 'x')")) }),
            (
                "",
                { worker, id in
                    #expect(try await worker.start().count == 1)
                    _ = try await worker.database.query(Statement("\(call).cancel('{\(id)}', 'x')"))
                }
            ),
            (
                ", tags => '{a}'",
                { worker, _ in
                    _ = try await worker.database.query(
                        Statement("\(call).cancel_where('{\"tag\": \"a\"}', 'x', dry_run => false)"))
                }
            ),
            (
                ", not_after => now() + interval '1 hour'",
                { worker, id in
                    try await worker.database.execute(
                        Statement("update errand.job set not_after = now() - interval '1 s' where id = \(id)"))
                    #expect(try await worker.start().isEmpty)
                }
            ),
            (
                ", subject => 'ann'",
                { worker, _ in _ = try await worker.database.query("select errand_internal.erase_subject('ann', 'x')") }
            ),
            (
                "",
                { worker, id in
                    try await fails(worker.start(), of: worker)
                    _ = try await worker.database.query(Statement("\(call).discard('{\(id)}', 'x')"))
                }
            ),
        ]
        for (index, way) in ways.enumerated() {
            try await withTestDatabase { database, _ in
                let worker = try await ManualWorker(database)
                let first = try await database.ordered(way.0)
                let second = try await database.ordered(", queue => 'other'")
                // It has its slot, as if it had run before.
                _ = try await database.query(
                    Statement("insert into errand.order_slot (order_key, job_id) values ('a', $1)", [first]))
                try await way.1(worker, first)
                #expect(try await database.states(second) == "available", "way \(index)")
                try await worker.end(worker.start(queue: "other"))
                try await database.expectNoOrderLeft()
            }
        }
    }

    @Test("a job that failed blocks its key and no other; retried it is the first again, discarded it gives way")
    func blocks() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let ids = [try await database.ordered(), try await database.ordered(), try await database.ordered()]
            let other = try await database.ordered(key: "b")
            try await worker.end(worker.start(), as: { $0.id == other ? .succeeded($0) : .failed($0, error: "secret") })
            try await database.checkOrders()
            #expect(try await database.states(ids[0], ids[1], ids[2], other) == "failed parked parked succeeded")
            #expect(
                try await database.text(
                    "select order_key, job_id, kind, queue, error, waiting from errand.blocked_keys")
                    == "a|\(ids[0])|noop|default|secret|2")
            #expect(
                try await database.text("select code, detail, hint from errand.explain(\(ids[2])) limit 1")
                    == """
                    order_blocked|job \(ids[0]) failed: retry or discard it|\
                    select * from errand.retry_job(\(ids[0]), '…'), or: select * from errand.discard_job(\(ids[0]), '…')
                    """)
            // Maintenance has nothing to do for such a key, and doctor finds nothing wrong.
            #expect(try await database.becomesAfterOrderChecks("not exists (select from errand.order_check)"))
            #expect(try await database.count("from errand.stuck") + database.count("from errand.overdue") == 0)
            try await database.execute("update errand.failed set finished_at = now() - interval '1 year'")
            _ = try await database.query("select errand_internal.prune()")
            #expect(try await database.states(ids[0]) == "failed")

            _ = try await database.query(
                Statement("select errand.retry('{\(ids[0])}', 'x', now() + interval '1 hour')"))
            #expect(try await database.states(ids[0], ids[1]) == "scheduled parked")
            #expect(try await database.count("from errand.blocked_keys") == 0)
            try await database.checkOrders()
            #expect(try await worker.start().isEmpty)
            _ = try await database.query(Statement("select errand.reschedule('{\(ids[0])}', 'x', now())"))
            let again = try await worker.start()
            #expect(again.map(\.id) == [ids[0]])
            #expect(
                try await database.text("select code, detail from errand.explain(\(ids[2])) limit 1")
                    == "behind_in_order|behind job \(ids[0]) of its order key, and another one")
            try await fails(again, of: worker)
            _ = try await database.query(Statement("select errand.retry('{\(ids[0])}', 'x')"))
            #expect(try await worker.start().map(\.id) == [ids[0]])
            _ = try await database.query(Statement("select errand.cancel('{\(ids[0]), \(ids[1])}', 'x')"))
            #expect(try await worker.start().map(\.id) == [ids[2]])
        }
    }

    @Test("a failed job that lets others go, and a cancelled one, come next when they are retried")
    func retried() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let ids = [
                try await database.ordered(", if_head_fails => 'go_on'"), try await database.ordered(),
                try await database.ordered(), try await database.ordered(),
            ]
            _ = try await database.query(Statement("select errand.cancel('{\(ids[1])}', 'x')"))
            try await fails(worker.start(), of: worker)
            let running = try await worker.start()
            #expect(running.map(\.id) == [ids[2]])
            _ = try await database.query(Statement("select errand.retry('{\(ids[0]),\(ids[1])}', 'x')"))
            #expect(try await worker.start().isEmpty)
            try await worker.end(running)
            for id in [ids[0], ids[1], ids[3]] {
                let next = try await worker.start()
                #expect(next.map(\.id) == [id])
                try await worker.end(next)
            }
            try await database.expectNoOrderLeft()
        }
    }

    @Test("a job that is replaced leaves its key for the new one's; one that waits again for its parents leaves it too")
    func leaves() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let first = try await database.ordered(", unique_key => 'u'")
            let second = try await database.ordered()
            for key in ["a", "b", "a"] {
                _ = try await database.ordered(", unique_key => 'u', on_conflict => 'replace'", key: key)
            }
            try await database.checkOrders()
            #expect(try await database.count("from errand.order_job where order_key = 'a'") == 2)
            _ = try await database.query("select errand.enqueue('noop', unique_key => 'u', on_conflict => 'replace')")
            try await database.checkOrders()
            #expect(try await database.states(first, second) == "available available")
            _ = try await database.ordered(", unique_key => 'u', on_conflict => 'keep'")
            try await worker.end(worker.start())
            try await database.expectNoOrderLeft()

            let parent = try await database.ordered(", if_head_fails => 'go_on'")
            let child = try await database.ordered(", after => '{\(parent)}', if_parent_fails => 'go_on'")
            try await fails(worker.start(), of: worker)
            try await fails(worker.start(), of: worker)
            #expect(try await database.states(parent, child) == "failed failed")
            // It would wait for its parent, and that one for its key.
            _ = try await database.query(Statement("select errand.retry('{\(parent),\(child)}', 'x')"))
            try await database.checkOrders()
            for id in [parent, child] {
                let next = try await worker.start()
                #expect(next.map(\.id) == [id])
                try await worker.end(next)
            }
            try await database.expectNoOrderLeft()
        }
    }

    @Test("a job with an order key stays in its cell")
    func cells() async throws {
        try await withTestDatabase { database, _ in
            for more in ["", ", run_at => now() + interval '1 hour'", ", queue => 'other'"] {
                _ = try await database.ordered(more)
            }
            _ = try await database.query("select errand.enqueue('noop')")
            for queue in ["default", "other"] {
                _ = try await database.query(
                    Statement("select errand_internal.move_out_v1(gen_random_uuid(), 1, $1, 5)", [queue]))
            }
            #expect(try await database.count("from errand.job where options ? 'order_key'") == 3)
            #expect(try await database.count("from errand.job") == 3)
        }
    }
}
