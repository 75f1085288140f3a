import ErrandTestKit
import Postgres
import Testing

@testable import Errand

/// Waits for an approval, and returns what has come.
private struct Approval: JobHandler {
    struct Request: Job {
        static let kind: JobKind = "approval"
        let name: String
        var seconds = 3600
        var by: String?
    }

    func run(_ job: Request, in context: JobContext) async throws -> Outcome {
        guard let signal = context.signal else {
            let now = try await context.database.query("select now()").scalar(Timestamp.self)
            return .wait(for: job.name, until: now + .seconds(job.seconds), by: job.by)
        }
        return .done(output: signal.payload ?? JSONB(#""nothing""#))
    }
}

@Suite("Jobs wait for signals, without a slot and without an attempt") struct SignalTests {
    @Test("a signal wakes what waits for it and what will, and comes with its payload; without it the time does")
    func wakes() async throws {
        try await withWorker([Approval()], configure: { $0.maintenance = true }) { database, queue in
            #expect(
                try await database.text("select errand.signal('early', '[1]'), errand.signal('early', '[2]')")
                    == "true|false")
            let early = try await queue.enqueue(Approval.Request(name: "early"), .followed, .maxAttempts(1)).id
            let late = try await queue.enqueue(Approval.Request(name: "late"), .followed, .maxAttempts(1)).id
            let never = try await queue.enqueue(Approval.Request(name: "never", seconds: 0), .followed).id
            #expect(try await queue.result(of: early, as: [Int].self, timeout: .seconds(30)) == [1])
            #expect(try await queue.result(of: never, as: String.self, timeout: .seconds(30)) == "nothing")
            #expect(try await database.becomes("state = 'parked' from errand.job where id = \(late)"))
            #expect(
                try await database.text("select waiting_for from errand.jobs where id = \(late)")
                    == "signal late has not come")
            #expect(
                try await database.text("select code from errand.explain(\(late)) where rank = 1") == "waits_for_signal"
            )
            // Neither a slot nor a lease.
            #expect(try await database.count("from errand.job where worker_id is not null or attempt > 0") == 0)
            try await database.execute(Statement("select errand.signal('late', '{\"ok\": [null]}')"))
            let end = try await queue.end(of: late, timeout: .seconds(30))
            #expect(end.output?.text == #"{"ok": [null]}"#)
            #expect(try await database.text("select max(attempt) from errand.history") == "1")
            #expect(try await database.count("from errand.signal_wait") == 0)
        }
    }

    @Test("a wait with a name, a role or a time that may not be fails its job alone, and says why")
    func refused() async throws {
        let requests: [(Approval.Request, String)] = [
            (.init(name: ""), "waiting: for: expected a name of 1 to 200 characters, got ''"),
            (.init(name: "a", by: "nobody's"), "waiting: by: expected a role, got 'nobody''s'"),
            (.init(name: "a", seconds: 20 * 366 * 86_400), "waiting: expected at most 10 years from now"),
        ]
        try await withWorker([Approval()]) { database, queue in
            for (request, problem) in requests {
                let id = try await queue.enqueue(request, .followed).id
                let error = try await queue.end(of: id, timeout: .seconds(30)).error
                #expect(error?.hasPrefix(problem) == true, "\(error ?? "none")")
            }
            await #expect(throws: PostgresError.self) { try await database.execute("select errand.signal('', '{}')") }
            await #expect(throws: PostgresError.self) { try await database.execute("select errand.signal('a', null)") }
            let large = "select errand.signal('a', to_jsonb(repeat('x', 300000)))"
            await #expect(throws: PostgresError.self) { try await database.execute(Statement(large)) }
            #expect(try await database.count("from errand.signal") == 0)
        }
    }

    @Test("only members of the wait's role and operators may send it; another login's signal of that name does nothing")
    func roles() async throws {
        try await Logins.with { logins in
            let database = logins.database
            let worker = try await ManualWorker(database)
            _ = try await logins.query("select errand.enqueue('noop', follow => true)", as: logins.shop)
            _ = try await database.query("select errand.enqueue('noop')")
            let jobs = try await worker.claim(2)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            try await worker.end(jobs, as: { .waiting($0, for: "sent", until: later, by: nil) })
            let waiting = "select string_agg(state, ',' order by id) from errand.job"
            _ = try await logins.query("select errand.signal('sent', '\"forged\"')", as: logins.mail)
            #expect(try await database.text(waiting) == "parked,parked")
            _ = try await logins.query("select errand.signal('sent', '\"own\"')", as: logins.member)
            #expect(try await database.text(waiting) == "available,parked")
            #expect(
                try await database.text(
                    "select errand_internal.signal_of(options) ->> 'payload' from errand.job where state = 'available'")
                    == "own")
            // Of a job that no login follows, operators alone.
            _ = try await database.query("select errand.signal('sent')")
            #expect(try await database.text(waiting) == "available,available")
        }
    }

    @Test(
        "a wait is over with its job: one that is cancelled or moved, or waits for another signal, isn't woken"
    )
    func changes() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            _ = try await database.query("select errand.enqueue('noop') from generate_series(1, 3)")
            let jobs = try await worker.claim(3)
            try await worker.end(jobs, as: { .waiting($0, for: "first", until: later, by: nil) })
            _ = try await database.query(
                Statement(
                    """
                    select errand.cancel(array[$1], 'not wanted'),
                        errand.reschedule_job($2, run_at => now() + interval '1 hour')
                    """, [jobs[0].id, jobs[1].id]))
            try await database.execute("select errand.signal('first')")
            #expect(
                try await database.text("select string_agg(state, ',' order by id) from errand.job")
                    == "scheduled,available")
            #expect(try await database.count("from errand.signal_wait") == 0)
            let again = try await worker.claim(1)
            try await worker.end(again, as: { .waiting($0, for: "second", until: later, by: nil) })
            try await database.execute("select errand_internal.release_waiting(), errand_internal.release_waiting()")
            #expect(
                try await database.text("select parked_for, options from errand.job where parked_for is not null")
                    == "signal:second|{}")
            _ = try await database.query("update errand.signal set signalled_at = now() - interval '8 days'")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.signal") == 0)
        }
    }

    @Test("a SQL function waits too, and gets what has come in its payload")
    func inSQL() async throws {
        try await withFunctionApp { app, database in
            try await app.handle(
                "ask",
                """
                if payload -> 'signal' is null then return errand.outcome_wait('reply', '1 hour'); end if;
                return errand.outcome_done(payload);
                """)
            try await app.act("select errand.enqueue('ask', '{\"n\": 1}', follow => true)")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "exists (select from errand.job where parked_for = 'signal:reply')")
                try await app.act("select errand.signal('reply', '{\"yes\": null}')")
                try await database.waits(for: "not exists (select from errand.job)")
            }
            #expect(
                try await database.text("select state, output from errand.history")
                    == #"succeeded|{"n": 1, "signal": {"name": "reply", "payload": {"yes": null}}}"#)
        }
    }

    @Test(
        "a SQL function's wait or snooze without a time fails its job, which would run on as if the time were over",
        arguments: [("outcome_wait('reply', null)", "timeout"), ("outcome_snooze(null)", "delay")])
    func timeoutInSQL(outcome: String, name: String) async throws {
        try await withFunctionApp { app, database in
            try await app.handle("ask", "return errand.\(outcome);")
            try await app.act("select errand.enqueue('ask')")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "exists (select from errand.failed)")
            }
            #expect(
                try await database.text("select attempts -> -1 ->> 'error' from errand.failed")
                    == "\(name): expected an interval, got null (ER422)")
        }
    }

    @Test("a wait ends at the job's not_after at the latest, when it would not start any more")
    func notAfter() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            _ = try await database.query("select errand.enqueue('noop', not_after => now() + interval '1 minute')")
            let jobs = try await worker.claim(1)
            try await worker.end(jobs, as: { .waiting($0, for: "late", until: later, by: nil) })
            #expect(try await database.text("select until = not_after from errand.signal_wait, errand.job") == "true")
        }
    }

    @Test("a SQL function never gets a signal of the enqueue; a payload without room for one fails instead of waiting")
    func forgedInSQL() async throws {
        try await withFunctionApp { app, database in
            try await app.handle(
                "ask",
                """
                if payload -> 'signal' is null then return errand.outcome_wait('reply', '1 hour'); end if;
                return errand.outcome_done(payload);
                """)
            try await app.act("select errand.enqueue('ask', '{\"signal\": {\"name\": \"reply\", \"payload\": {}}}')")
            try await app.act("select errand.enqueue('ask', '[1]')")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "exists (select from errand.job where parked_for = 'signal:reply')")
                try await database.waits(for: "exists (select from errand.failed)")
            }
            #expect(try await database.count("from errand.job where payload ? 'signal'") == 1)
            #expect(
                try await database.text("select attempts -> -1 ->> 'error' from errand.failed")
                    == "payload: expected an object, which gets the signal, got array (ER422)")
        }
    }

    @Test("an erased user's waits and signals go with the jobs")
    func erased() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            _ = try await database.query(
                "select errand.enqueue('noop', subject => 'ada'), errand.enqueue('noop', subject => 'bob')")
            let jobs = try await worker.claim(2)
            try await worker.end(jobs, as: { .waiting($0, for: "of \($0.id)", until: later, by: nil) })
            for job in jobs { _ = try await database.query(Statement("select errand.signal($1)", ["of \(job.id)"])) }
            _ = try await database.query("select errand_internal.erase_subject('ada', 'asked to')")
            #expect(try await database.text("select name from errand.signal") == "of \(jobs[1].id)")
            #expect(try await database.count("from errand.job") == 1)
        }
    }

    @Test("an erased user's signals leave no name behind")
    func erasedNames() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            _ = try await database.query(
                "select errand.enqueue('noop', subject => 'ada') from generate_series(1, 2)")
            try await worker.end(worker.claim(2), as: { .waiting($0, for: "ada", until: later, by: nil) })
            _ = try await database.query("select errand.signal('ada')")
            _ = try await database.query("select errand.cancel(array[min(id)], 'not wanted') from errand.job")
            #expect(try await database.text("select max(options #>> '{signal,name}') from errand.job") == "ada")
            try await worker.end(worker.claim(1), as: { .waiting($0, for: "ada/2", until: later, by: nil) })
            _ = try await database.query("select errand_internal.erase_subject('ada', 'asked to')")
            #expect(try await database.count("from errand.history where options ? 'signal'") == 0)
            #expect(try await database.count("from errand.signal_wait") == 0)
            #expect(try await database.count("from errand.signal") == 0)
        }
    }

    @Test("a move to another cell leaves jobs here that wait for a signal or have got one")
    func cells() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            _ = try await database.query("select errand.enqueue('noop') from generate_series(1, 2)")
            let jobs = try await worker.claim(2)
            try await worker.end(jobs, as: { .waiting($0, for: "of \($0.id)", until: later, by: nil) })
            _ = try await database.query(Statement("select errand.signal($1)", ["of \(jobs[0].id)"]))
            let other = try await database.query("select job_id from errand.enqueue('noop')").scalar(Int64.self)
            let moved = try await database.query(
                """
                select jobs
                from errand_internal.move_out_v1(gen_random_uuid(), 1, (select min(queue) from errand.job), 1)
                """
            ).scalar(Int.self)
            #expect(moved == 1)
            #expect(try await database.count("from errand.job where id <> \(other)") == 2)
        }
    }

    @Test("each reason for which a job is parked is a row, with the function that releases it")
    func reasons() async throws {
        try await withTestDatabase { database, _ in
            let areWhole = try await database.text(
                "select count(*) > 4 and bool_and(to_regproc(released_by) is not null) from errand.park_reason")
            #expect(areWhole == "true")
            let unknown = """
                select literal[1]
                from pg_proc
                cross join regexp_matches(prosrc, 'parked_for (?:=|:=) ''([a-z]+:?)''', 'g') as literal
                where pronamespace in ('errand'::regnamespace, 'errand_internal'::regnamespace)
                    and not exists (select from errand.park_reason where prefix = literal[1])
                """
            #expect(try await database.text(unknown) == "")
        }
    }
}
