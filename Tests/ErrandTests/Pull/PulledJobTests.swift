import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The life of a pulled job") struct PulledJobTests {
    @Test("a login with the right of a worker alone pulls a job with all that it needs, and completes it")
    func done() async throws {
        try await withTestDatabase { database, _ in
            let role = "errand_worker"
            func ask(_ sql: String) async throws -> String { try await database.text(sql, as: role) }
            #expect(
                try await ask(
                    "select errand.put_kind('send_mail', queue => 'mail', max_attempts => 3, priority => 1)") == "")
            try await database.execute(
                """
                select errand.enqueue(
                    'send_mail', '{"to": 17}', tags => '{urgent}', not_after => '2100-01-01 00:00:00Z')
                """)
            let pulled = try await ask(
                """
                select worker_id, token, id, queue, kind, attempt, max_attempts, priority, payload,
                    created_at <= now() and run_at <= now(), options, lost
                from errand.pull('{mail}', '{send_mail}', label => 'mailer')
                """
            ).split(separator: "|").map(String.init)
            #expect(
                pulled.dropFirst(2) == [
                    "1", "mail", "send_mail", "1", "3", "1", #"{"to": 17}"#, "true",
                    #"{"tags": ["urgent"], "not_after": 3155760000000000}"#, "[]",
                ])
            #expect(try await database.text("select name, running from errand.workers") == "mailer|0")
            let done = "select * from errand.done(array['\(pulled[1])'], array['{\"sent\": 1}'::jsonb])"
            #expect(try await ask(done) == "\(pulled[1])|1|completed")
            let job = "select state, attempt, output, attempts, worker_id is not null from errand.history"
            #expect(try await database.text(job) == #"succeeded|1|{"sent": 1}||true"#)
            #expect(try await database.count("from errand.job") == 0)
            #expect(try await ask(done) == "\(pulled[1])|1|stale")
            #expect(try await ask("select errand.leave('\(pulled[0])')") == "")
            #expect(try await database.text("select * from errand.worker") == "")
            for call in ["pull('{a}', '{a}')", "done('{1.1.1}')", "renew(gen_random_uuid())", "put_kind('a')"] {
                #expect(
                    try await database.refusal(of: "select errand.\(call)", as: "errand_enqueuer") == "42501", "\(call)"
                )
            }
        }
    }

    @Test(
        "a worker leaves even while maintenance has its row; while another session keeps it, its lease ends by itself")
    func leaves() async throws {
        try await withTestDatabase { database, _ in
            for isKept in [false, true] {
                let worker = try await PullingWorker(database)
                let leave = Statement("select errand.leave($1::text::uuid)", [worker.id])
                try await database.transaction { other in
                    try await other.execute("select from errand.worker for update")
                    if isKept {
                        try await database.execute(leave)
                    } else {
                        Task { try await database.execute(leave) }
                        #expect(
                            try await database.becomes(
                                """
                                exists (
                                    select from pg_stat_activity
                                    where datname = current_database() and wait_event_type = 'Lock')
                                """))
                    }
                }
                #expect(try await database.becomes("\(isKept) = exists (select from errand.worker)"))
                // Nothing has changed for the next one: the limit of time was that of the call.
                #expect(try await database.word("select current_setting('lock_timeout')") == "0")
            }
        }
    }

    @Test("a failed attempt is retried within the delay of its kind, each time of the next element, or of the default")
    func delays() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_kind('own', retry_delays => '{10 s, 1 min}')")
            // Another call keeps them.
            try await database.execute("select errand.put_kind('own', max_attempts => 20)")
            // Of 60 draws from 0 to the bound one is in either half, but for two times in 2^60.
            for (kind, bounds) in [("own", [10, 60, 60]), ("other", [2, 4, 8])] {
                let worker = try await PullingWorker(database, kinds: kind)
                try await database.execute(Statement("select errand.enqueue('\(kind)') from generate_series(1, 60)"))
                for bound in bounds {
                    let jobs = try await worker.pull(60)
                    #expect(jobs.count == 60)
                    let results = try await database.results("fail", jobs, ", array_fill('no route'::text, array[60])")
                    #expect(results == [String](repeating: "completed", count: 60))
                    let (shortest, longest) = try await database.query(
                        """
                        select extract(epoch from min(run_at) - now())::float8, extract(epoch from max(run_at) - now())::float8
                        from errand.job
                        where state = 'scheduled'
                        """
                    )[0].decode(Double.self, Double.self)
                    // A part of a second has passed since.
                    let half = Double(bound) / 2
                    #expect(longest > half - 0.9 && longest <= 2 * half && shortest < half, "\(kind): \(longest)")
                    try await database.execute("update errand.job set run_at = now()")
                    try await database.promote()
                }
                #expect(
                    try await database.text(
                        """
                        select distinct jsonb_array_length(attempts), attempts -> 2 ->> 'outcome',
                            attempts -> 2 ->> 'error', attempt
                        from errand.job
                        """) == "3|retried|no route|3")
                try await database.execute("delete from errand.job")
            }
        }
    }

    @Test("an attempt that fails says after what time it is retried, or that it was the last one")
    func failures() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute(
                "select errand.enqueue('noop', max_attempts => case number when 4 then 1 end) from generate_series(1, 5) as number"
            )
            let jobs = try await worker.pull(5)
            let arguments = """
                , '{a,b,c,d,e}', '{1 hour,null,1 hour,1 hour,-1 hour}',
                '{false,null,true,false,false}'
                """
            #expect(
                try await database.results("fail", jobs, arguments) == [String](repeating: "completed", count: 5))
            #expect(
                try await database.text(
                    """
                    select id, state, round(extract(epoch from run_at - (attempts -> 0 ->> 'ended_at')::timestamptz) / 10)
                    from errand.job
                    where id in (1, 5)
                    order by id
                    """) == "1|scheduled|360\n5|available|0")
            #expect(
                try await database.text("select id, error, attempt from errand.failed order by id")
                    == "3|c|1\n4|d|1")
            #expect(try await worker.pull(5).map(\.id) == [5])
        }
    }

    @Test("a job that is snoozed or released has begun no attempt; a released one keeps its place in the queue")
    func uncounted() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 4)")
            let jobs = try await worker.pull(3)
            #expect(jobs.map(\.id) == [1, 2, 3])
            #expect(
                try await database.results("snooze", [jobs[0], jobs[2]], ", '{10 min,0}'")
                    == ["completed", "completed"])
            #expect(try await database.results("release", [jobs[1]]) == ["completed"])
            #expect(
                try await database.text("select id, state, attempt, attempts from errand.job order by id")
                    == "1|scheduled|0|\n2|available|0|\n3|available|0|\n4|available|0|")
            #expect(
                try await database.text(
                    "select round(extract(epoch from run_at - now()) / 60) from errand.job where id = 1") == "10")
            var next: [PullingWorker.Job] = []
            for _ in 1...3 { next += try await worker.pull() }
            try #require(next.map(\.id) == [2, 4, 3])
            #expect(next.map(\.attempt) == [1, 1, 1])
            #expect(next[0].token == jobs[1].token && next[2].token != jobs[2].token)
        }
    }

    @Test("a job's progress is stored with it until another attempt reports; null keeps what was there")
    func progress() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop')")
            let job = try #require(try await worker.pull().first)
            func report(_ arguments: String, _ token: String = job.token) async throws -> String {
                try await database.text("select errand.report('\(token)', \(arguments))")
            }
            let progress = "select fraction, message, output, is_running, attempt from errand.job_progress"
            #expect(try await report("0.4, '40 of 100 sent'") == "true")
            #expect(try await database.text(progress) == "0.4|40 of 100 sent||true|1")
            #expect(try await report("null, output => '[1]'") == "true")
            #expect(try await database.text(progress) == "0.4|40 of 100 sent|[1]|true|1")
            for (fraction, stored) in [("-1", "0"), ("7", "1"), ("'nan'", "1"), ("1e300", "1"), ("0.5", "0.5")] {
                #expect(try await report(fraction) == "true")
                #expect(try await database.text("select fraction from errand.job_progress") == stored)
            }
            #expect(try await database.results("fail", [job], ", '{x}', '{0}'") == ["completed"])
            #expect(try await report("0.9") == "false")
            #expect(try await report("0.9", "garbage") == "false")
            let again = try #require(try await worker.pull().first)
            #expect(try await report("0.1", again.token) == "true")
            #expect(try await database.text(progress) == "0.1|||true|2")
        }
    }

    @Test("neither a completion nor a report reads more of the queue than its jobs")
    func plans() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute(
                "select errand.enqueue_payloads_v1('noop', array_fill('{}'::jsonb, array[5000]))")
            let jobs = try await worker.pull(6)
            try await database.execute("analyze errand.job")
            let tokens = jobs.map { "'{\($0.token)}'" }
            // Of the whole table, and of the index by position.
            let scans = """
                select array[
                    pg_stat_get_xact_numscans('errand.job'::regclass),
                    pg_stat_get_xact_numscans('errand.job_position_index'::regclass)]
                """
            for call in [
                "errand.report('\(jobs[0].token)', 0.5)", "errand.step('\(jobs[0].token)', 'x')",
                "errand.steps('\(jobs[0].token)')", "errand.done(\(tokens[0]))",
                "errand.done(\(tokens[1]), '{1}')", "errand.fail(\(tokens[2]), '{x}')",
                "errand.snooze(\(tokens[3]), '{1 s}')", "errand.release(\(tokens[4]))",
                "errand.renew('\(worker.id)', \(tokens[5]))",
            ] {
                if call.contains("renew") { try await worker.ages() }
                try await database.transaction { transaction in
                    let before = try await transaction.query(Statement(scans)).scalar([Int64].self)
                    try await transaction.execute(Statement("select \(call)"))
                    let after = try await transaction.query(Statement(scans)).scalar([Int64].self)
                    #expect(before == after, "\(call)")
                }
            }
        }
    }

    @Test("attempts are counted with the outcomes of a program's worker, and errand.kinds shows them")
    func counts() async throws {
        try await withWorker([NoopHandler(), LargeHandler()]) { database, queue in
            try await queue.enqueue(Large())
            for job in [Noop(), Noop(), Noop(fail: .permanent)] { try await queue.enqueue(job) }
            for attempts in [1, 2] { try await queue.enqueue(Noop(fail: .transient), .maxAttempts(attempts)) }
            let worker = try await PullingWorker(database, kinds: "pulled")
            try await database.execute("select errand.put_kind('pulled')")
            try await database.execute(
                """
                select errand.enqueue('pulled', max_attempts => case number when 5 then 1 end)
                from generate_series(1, 8) as number
                """)
            let jobs = try await worker.pull(8)
            let both = ["completed", "completed"]
            let outputs = ", array[null, null, to_jsonb(repeat('x', 300000))]"
            #expect(try await database.results("done", Array(jobs[..<3]), outputs) == both + ["completed"])
            let arguments = ", '{a,b,c}', null, '{true,false,false}'"
            #expect(try await database.results("fail", Array(jobs[3..<6]), arguments) == both + ["completed"])
            // Not counted: neither has been completed, or has begun.
            #expect(try await database.results("done", [jobs[0]]) == ["stale"])
            #expect(try await database.results("release", [jobs[6]]) == ["completed"])
            func counted(_ kind: String) -> String {
                """
                (
                    select string_agg(outcome || ' ' || jobs, ', ' order by outcome)
                    from (
                        select outcome, sum(jobs) as jobs
                        from errand.finished_per_minute
                        where kind = any ('{\(kind)}')
                        group by 1
                    ) as sums)
                """
            }
            #expect(
                try await database.text("select \(counted("pulled"))") == "failed 3, retried 1, succeeded 2")
            #expect(try await database.becomes("coalesce(\(counted("noop,large")) = \(counted("pulled")), false)"))
            #expect(try await database.results("snooze", [jobs[7]], ", '{1 h}'") == ["completed"])
            #expect(
                try await database.text("select outcome from errand.finished_per_minute where outcome = 'snoozed'")
                    == "snoozed")
            try await database.execute("select errand_internal.update_statistics()")
            #expect(
                try await database.text(
                    "select succeeded_1_h, failed_1_h, retried_1_h from errand.kinds where kind = 'pulled'") == "2|3|1")
            let uneven = """
                from errand.finished_per_minute
                where kind = 'pulled' and jobs <> all (array[
                    (select sum(bucket) from unnest(wait_histogram) as bucket),
                    (select sum(bucket) from unnest(run_histogram) as bucket)])
                """
            #expect(try await database.count(uneven) == 0)
        }
    }

    @Test("counts that a session has left locked are merged later, and nobody waits for them")
    func merged() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop')")
            #expect(try await database.results("done", try await worker.pull()) == ["completed"])
            try await database.execute("update errand.finished_per_minute set minute = minute - interval '5 minutes'")
            let session = try await database.session()
            try await session.execute("begin")
            try await session.execute("select from errand.finished_per_minute for update")
            let rows = "select count(*) filter (where worker_id <> 0), sum(jobs) from errand.finished_per_minute"
            for (end, expected) in [("select 1", "1|1"), ("rollback", "0|1")] {
                try await session.execute(Statement(end))
                try await database.transaction { transaction in
                    try await transaction.execute("set local lock_timeout = '3s'")
                    try await transaction.execute("select errand_internal.merge_finished()")
                }
                #expect(try await database.text(rows) == expected)
            }
            await session.close()
        }
    }
}

private struct Large: Job {
    static let kind: JobKind = "large"
}

/// Returns more than an output may have.
private struct LargeHandler: JobHandler {
    func run(_ job: Large, in context: JobContext) async throws -> Outcome {
        try .done(JSONValue.string(String(repeating: "x", count: 300_000)))
    }
}
