import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("How long a job has its unique key") struct UniqueSpanTests {
    @Test("a key for a time is refused after the job's end and retention, until the time is over; cancel ends it")
    func period() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database)
            let once = EnqueueOption.unique("k", for: .seconds(3600))
            let first = try await queue.enqueue(Noop(), once)
            #expect(try await queue.enqueue(Noop(), once) == Enqueued(id: first.id, isNew: false, state: "available"))
            try await worker.end(try await worker.claim(1))
            #expect(try await queue.enqueue(Noop(), once) == Enqueued(id: first.id, isNew: false, state: "succeeded"))
            try await database.execute("delete from errand.history")
            #expect(try await queue.enqueue(Noop(), once) == Enqueued(id: first.id, isNew: false, state: "ended"))
            await expectRefusal(
                "select errand.enqueue('noop', unique_key => 'k', unique_for => '1 s', on_conflict => 'error')",
                "ER409", "that of job \(first.id)", in: database)
            #expect(try await queue.enqueue(Noop(), .unique("year", for: .seconds(365 * 86_400))).isNew)
            try await database.execute("delete from errand.job where unique_key = 'year'")
            // A call that names no time asks for unfinished jobs alone.
            #expect(try await queue.enqueue(Noop(), .unique("k")).isNew)
            try await worker.end(try await worker.claim(1))
            try await database.execute("update errand.unique_period set until = now() - interval '1 s'")
            let second = try await queue.enqueue(Noop(), once)
            #expect(second.isNew)
            for end in [
                "errand.cancel('{\(second.id)}', 'x')",
                #"errand.cancel_where('{"kind": "noop"}', 'x', dry_run => false)"#,
            ] {
                try await database.execute(Statement("select \(end)"))
                #expect(try await queue.enqueue(Noop(), once).isNew, "\(end)")
            }
            try await worker.end(try await worker.claim(1)) { .failed($0, error: "x") }
            #expect(try await queue.enqueue(Noop(), once).state == "failed")
            try await database.execute("select errand.discard(array(select id from errand.failed), 'x')")
            #expect(try await queue.enqueue(Noop(), once).isNew)
            try await database.execute("update errand.unique_period set until = now() - interval '1 s'")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.unique_period") == 0)
        }
    }

    @Test("within its time, a waiting job with the key is changed as asked, and an erased user's key is free")
    func periodConflicts() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database)
            func enqueue(_ number: Int, _ conflict: Conflict) async throws -> Enqueued {
                try await queue.enqueue(
                    Noop(sleepMilliseconds: number), .unique("k", onConflict: conflict, for: .seconds(3600)),
                    .subject("ben"))
            }
            let first = try await enqueue(1, .keep)
            #expect(try await enqueue(2, .replace).id == first.id)
            #expect(try await enqueue(3, .supersede).id == first.id)
            #expect(try await database.word("select payload ->> 'sleep_ms' from errand.job") == "3")
            let running = try await worker.claim(1)
            let next = try await enqueue(4, .supersede)
            #expect(next.isNew && next.id != first.id)
            #expect(try await worker.end(running) == [first.id])
            try await worker.end(try await worker.claim(1))
            #expect(try await enqueue(5, .supersede) == Enqueued(id: next.id, isNew: false, state: "succeeded"))
            try await database.execute("select errand_internal.erase_subject('ben', 'x')")
            #expect(try await enqueue(6, .keep).isNew)
        }
    }

    @Test("a debounced job is due no later than its bound after its enqueue, however often it is moved")
    func debounced() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let wait = "select extract(epoch from run_at - created_at)::float8 from errand.job"
            for (seconds, expected) in [(10, 10.0), (25, 25), (500, 30), (1000, 30)] {
                try await queue.enqueue(
                    Noop(), .unique("k", onConflict: .reschedule, noLaterThan: .seconds(30)),
                    .after(.seconds(Int64(seconds))))
                let due = try await database.query(Statement(wait)).scalar(Double.self)
                #expect(seconds == 25 ? due >= expected && due < 30 : due == expected)
            }
            try await database.execute("update errand.job set created_at = now() - interval '1 hour'")
            let late = try await queue.enqueue(
                Noop(), .unique("k", onConflict: .reschedule, noLaterThan: .seconds(30)), .after(.seconds(10)))
            #expect(late.state == "available")
        }
    }

    @Test("an encrypted payload isn't merged, and stays as it was")
    func encrypted() async throws {
        try await withTestDatabase { database, _ in
            for (waiting, new) in [(#"{"$enc": 1}"#, "{}"), ("{}", #"{"$enc": 1}"#)] {
                try await database.execute(
                    Statement(
                        "select errand.enqueue('noop', '\(waiting)', unique_key => 'k', on_conflict => 'replace')"))
                await expectRefusal(
                    "select errand.enqueue('noop', '\(new)', unique_key => 'k', on_conflict => 'merge')", "ER422",
                    "payload: expected two that aren't encrypted", in: database)
                #expect(try await database.count("from errand.job where payload = '\(waiting)'") == 1)
            }
        }
    }

    @Test("what is merged into a waiting job is in one payload, small or large; what comes while it runs is a new job")
    func merged() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            func merge(_ payload: String) async throws -> Int64 {
                try await database.query(
                    Statement(
                        """
                        select job_id
                        from errand.enqueue('noop', \(payload), unique_key => 'k', on_conflict => 'merge')
                        """)
                ).scalar(Int64.self)
            }
            let first = try await merge("'[1]'")
            #expect(try await merge("jsonb_build_array(repeat('x', 3000))") == first)
            #expect(try await merge("'[3]'") == first)
            await expectRefusal(
                "select errand.enqueue('noop', '{}', unique_key => 'k', on_conflict => 'merge')", "ER422",
                "payload: expected array", in: database)
            await expectRefusal(
                "select errand.enqueue('other', '[]', unique_key => 'k', on_conflict => 'merge')", "ER422",
                "kind: expected noop", in: database)
            let running = try await worker.claim(1)
            #expect(running.count == 1)
            #expect(
                try await database.text("select jsonb_array_length(payload), payload -> 2 from errand.jobs") == "3|3")
            let second = try await merge("'[4]'")
            #expect(second != first)
            #expect(try await worker.end(running) == [])
            #expect(try await database.text("select unique_key from errand.history") == "k")
            #expect(try await worker.claim(1).map(\.id) == [second])
            try await database.execute("select errand.enqueue('noop', '{\"a\": 1, \"b\": 1}', unique_key => 'plain')")
            #expect(try await worker.claim(1).count == 1)
            // A running job that would keep its key gives it up: otherwise this would be lost.
            try await database.execute(
                "select errand.enqueue('noop', '{\"a\": 2}', unique_key => 'plain', on_conflict => 'merge')")
            #expect(try await database.count("from errand.job where unique_key = 'plain' and state = 'available'") == 1)
        }
    }

    @Test(
        "a job that comes back has its key again, unless another job has it or is about to get it",
        arguments: ["retried", "snoozed", "released", "crashed", "left", "forced", "failed", "cancelled"])
    func comesBack(way: String) async throws {
        try await withTestDatabase(connections: 3) { database, _ in
            let queue = Queue(database: database)
            for taken in ["free", "taken", "open"] {
                let key = EnqueueOption.unique("k", while: .waiting)
                let first = try await queue.enqueue(Noop(), key)
                let worker = try await ManualWorker(database)
                let running = try await worker.claim(1)
                #expect(running.map(\.id) == [first.id])
                #expect(try await database.count("from errand.job where unique_key is null") == 1)
                try await database.transaction { open in
                    switch taken {
                    case "taken": #expect(try await queue.enqueue(Noop(), key).isNew)
                    case "open": #expect(try await queue.enqueue(Noop(), in: open, key).isNew)
                    default: break
                    }
                    try await comeBack(running, by: way, worker, on: database)
                }
                let states = "select string_agg(coalesce(unique_key, '-'), ' ' order by id) from errand.job"
                #expect(try await database.text(states) == (taken == "free" ? "k" : "- k"), "\(taken)")
                #expect(!(try await queue.enqueue(Noop(), key).isNew))
                try await database.execute("delete from errand.job")
                try await database.execute("delete from errand.worker")
            }
        }
    }

    private func comeBack(_ running: [ClaimedJob], by way: String, _ worker: ManualWorker, on database: Database)
        async throws
    {
        switch way {
        case "retried": try await worker.end(running) { .retried($0, error: "x", after: .zero) }
        case "snoozed": try await worker.end(running) { .snoozed($0, for: .seconds(3600)) }
        case "released": try await worker.end(running) { .released($0) }
        case "crashed": try await worker.dies()
        case "left": try await database.execute(Statement("select errand_internal.leave_v1($1, true)", [worker.id]))
        case "forced":
            try await database.execute(
                Statement("select errand.release_worker($1, 'x', force => true)", [worker.id]))
        case "failed":
            try await worker.end(running) { .failed($0, error: "x") }
            try await database.execute(Statement("select errand.retry('{\(running[0].id)}')"))
        default:
            try await database.execute(Statement("select errand.cancel('{\(running[0].id)}', 'x')"))
            try await database.execute(
                #"select errand.retry_where('{"state": "cancelled"}', dry_run => false)"#)
        }
    }
}
