import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("What becomes of a job whose parent has not succeeded") struct ParentFailureTests {
    /// Jobs with each policy, and two behind the cancelled one. A claim that ends their parent doesn't take them.
    private func children(of parent: Int64, in database: Database) async throws -> [Int64] {
        var ids: [Int64] = []
        for policy in ["wait", "go_on", "cancel"] {
            ids.append(try await database.child(of: parent, ifParentFails: policy, more: ", queue => 'other'"))
        }
        ids.append(try await database.child(of: ids[2], ifParentFails: "cancel"))
        ids.append(try await database.child(of: ids[3]))
        return ids
    }

    private func states(_ ids: [Int64], in database: Database) async throws -> String {
        try await database.states(ids[0], ids[1], ids[2], ids[3], ids[4])
    }

    @Test(
        "each way in which a parent ends without success counts: failed, cancelled, too late, unwanted, lost, discarded"
    )
    func ways() async throws {
        let cancel = "select * from errand"
        let ways: [(String, (ManualWorker, Int64) async throws -> Void)] = [
            ("", { worker, _ in try await worker.end(worker.claim(1), as: { .failed($0, error: "x") }) }),
            ("", { worker, _ in try await worker.end(worker.claim(1), as: { .cancelled($0, reason: "x") }) }),
            ("", { worker, id in _ = try await worker.database.query(Statement("\(cancel).cancel('{\(id)}', 'x')")) }),
            (
                ", tags => '{a}'",
                { worker, _ in
                    _ = try await worker.database.query(
                        Statement("\(cancel).cancel_where('{\"tag\": \"a\"}', 'x', dry_run => false)"))
                }
            ),
            (
                ", tags => '{a}'",
                { worker, _ in
                    _ = try await worker.database.query(
                        Statement("\(cancel).start_bulk('cancel', '{\"tag\": \"a\"}', 'x')"))
                    for _ in 1...3 { _ = try await worker.database.query("select errand_internal.run_bulk()") }
                }
            ),
            (
                ", not_after => now() + interval '1 hour'",
                { worker, id in
                    try await worker.database.execute(
                        Statement("update errand.job set not_after = now() - interval '1 s' where id = \(id)"))
                    #expect(try await worker.claim(1).isEmpty)
                }
            ),
            (
                ", unique_key => 'a', not_after => now() + interval '1 hour'",
                { worker, id in
                    try await worker.database.execute(
                        Statement("update errand.job set not_after = now() - interval '1 s' where id = \(id)"))
                    _ = try await worker.database.query("select errand_internal.free_key('a')")
                    try await worker.database.checkChildren()
                }
            ),
            (", guard => 'wanted'", { worker, _ in _ = try await worker.claim(1) }),
            (
                ", max_attempts => 1",
                { worker, _ in
                    #expect(try await worker.claim(1).count == 1)
                    try await worker.dies()
                }
            ),
            (
                "",
                { worker, id in
                    _ = try await worker.database.query(
                        Statement(
                            "select errand_internal.erase_subject('ada', 'asked to') from errand.job where id = \(id)"))
                }
            ),
        ]
        for (index, (options, end)) in ways.enumerated() {
            try await withTestDatabase { database, _ in
                try await database.makeGuard()
                let worker = try await ManualWorker(database)
                let subject = index == ways.count - 1 ? ", subject => 'ada'" : ""
                let parent = try await database.child(more: options + subject)
                let ids = try await children(of: parent, in: database)
                try await end(worker, parent)
                #expect(
                    try await states(ids, in: database) == "parked available cancelled cancelled parked",
                    "way \(index)")
                #expect(
                    try await database.text(
                        "select reason like 'job \(parent), which it waited for, has ended as %' from errand.jobs where id = \(ids[2])"
                    )
                        == "true", "way \(index)")
            }
        }
    }

    @Test("a parent that is retried and succeeds releases what waits; explain names it before, and what to do")
    func retried() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let (first, second) = (try await database.child(), try await database.child())
            let child = try await database.child(of: first, second)
            let jobs = try await worker.claim(2)
            let explain = "select code, detail, hint from errand.explain(\(child)) where rank <= 2"
            #expect(
                try await database.text(explain).hasPrefix(
                    "waits_for_jobs|2 of the 2 jobs that it waits for have not ended, the newest of them job \(second) (running)"
                ))
            try await worker.end([jobs[0]], as: { .failed($0, error: "secret") })
            #expect(
                try await database.text(explain).hasPrefix(
                    "parent_failed|job \(first), which has to succeed first, is failed|select * from errand.retry_job(\(first), '…')"
                ))
            try await worker.end([jobs[1]])
            #expect(try await database.text("select parked_for from errand.job") == "job:\(first)")
            _ = try await database.query(Statement("select errand.discard('{\(first)}', 'x')"))
            #expect(
                try await database.text(explain).hasPrefix(
                    "parent_failed|job \(first), which has to succeed first, is cancelled|"))
            _ = try await database.query(Statement("select errand.retry('{\(first)}', 'x')"))
            #expect(try await database.text(explain).hasPrefix("waits_for_jobs|1 of the 2 jobs"))
            try await worker.end(worker.claim(1))
            #expect(try await database.states(child) == "available")
        }
    }

    @Test("a job that is enqueued after its parent has failed is dealt with at once, as its policy asks")
    func late() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let parent = try await database.child()
            try await worker.end(worker.claim(1), as: { .failed($0, error: "x") })
            let ids = try await children(of: parent, in: database)
            #expect(try await states(ids, in: database) == "parked available cancelled cancelled parked")
            let many = try await database.enqueueMany(
                """
                [{"kind": "noop", "after": [\(parent)], "if_parent_fails": "go_on"},
                 {"kind": "noop", "after": [\(parent)], "if_parent_fails": "cancel"}]
                """)
            #expect(try await database.states(many[0], many[1]) == "available cancelled")
        }
    }

    @Test("a cancelled or failed child that is retried waits again for what has not succeeded")
    func childRetried() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let parent = try await database.child()
            let child = try await database.child(of: parent)
            _ = try await database.query(Statement("select errand.cancel('{\(child)}', 'x')"))
            #expect(
                try await database.text("select was, now from errand.retry('{\(child)}', 'x')") == "cancelled|parked")
            // Another time or queue doesn't let it start, nor does its key's owner.
            _ = try await database.query(
                Statement("select errand.reschedule('{\(child)}', run_at => now(), queue => 'other', force => true)"))
            #expect(
                try await database.text(
                    "select was, now from errand.reschedule('{\(child)}', run_at => now() + interval '1 h')")
                    == "parked|parked")
            #expect(try await database.states(child) == "parked")
            try await worker.end(worker.claim(2))
            #expect(try await database.states(child) == "scheduled")
        }
    }

    @Test("a reschedule by key doesn't let a job start before its parents have ended")
    func rescheduledByKey() async throws {
        try await withTestDatabase { database, _ in
            let parent = try await database.child()
            let child = try await database.child(of: parent, more: ", unique_key => 'a'")
            let again = "select state from errand.enqueue('noop', unique_key => 'a', on_conflict => 'reschedule'"
            #expect(try await database.text("\(again), run_at => now() + interval '1 h')") == "parked")
            #expect(try await database.text("\(again))") == "parked")
            #expect(try await database.text("select parked_for from errand.job where id = \(child)") == "job:\(parent)")
        }
    }

    @Test("a parent that has not succeeded stays on record while others wait for it, and goes then")
    func prune() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let (first, second) = (try await database.child(), try await database.child())
            let child = try await database.child(of: first, second)
            let jobs = try await worker.claim(2)
            try await worker.end([jobs[0]], as: { .failed($0, error: "x") })
            try await worker.end([jobs[1]], as: { .cancelled($0, reason: "x") })
            try await database.execute("update errand.failed set finished_at = now() - interval '60 days'")
            try await database.execute("update errand.history set finished_at = now() - interval '60 days'")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.states(first, second, child) == "failed cancelled parked")
            _ = try await database.query(Statement("select errand.cancel('{\(child)}', 'x')"))
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.states(first, second) == "")
        }
    }

    @Test("a day of the history is dropped without the parents that others wait for")
    func dropped() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute(
                """
                do $$ begin
                    execute format('create table errand.history_%s partition of errand.history for values from (%L) to (%L)',
                        to_char(now() at time zone 'UTC' - interval '20 days', 'YYYYMMDD'),
                        (now() at time zone 'UTC')::date - 20, (now() at time zone 'UTC')::date - 19);
                end $$
                """)
            let (first, second) = (try await database.child(), try await database.child())
            let child = try await database.child(of: second)
            try await worker.end(worker.claim(2), as: { .cancelled($0, reason: "x") })
            try await database.execute(
                "update errand.history set finished_at = (now() at time zone 'UTC')::date - 20 + interval '1 hour'")
            var isMore = true
            while isMore {
                isMore = try await database.query("select errand_internal.drop_partition()").scalar(Bool.self)
            }
            #expect(try await database.states(first, second, child) == "cancelled parked")
        }
    }
}
