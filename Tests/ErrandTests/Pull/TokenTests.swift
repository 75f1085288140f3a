import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The tokens of pulled jobs") struct TokenTests {
    private let outcomes = [
        "done('{TOKEN}')", "fail('{TOKEN}', '{x}')", "snooze('{TOKEN}', '{1 s}')", "release('{TOKEN}')",
    ]

    /// Expects that the token is stale for each function, and that none changes anything.
    private func expectStale(_ token: String, in database: Database, _ why: Comment) async throws {
        let state = """
            select job.*, (select count(*) from errand.history), (select count(*) from errand.failed),
                (select count(*) from errand.step), (select sum(jobs) from errand.finished_per_minute)
            from errand.job
            order by id
            """
        let before = try await database.text(state)
        for outcome in outcomes {
            let call = outcome.replacing("TOKEN", with: token)
            #expect(try await database.text("select result from errand.\(call)") == "stale", "\(why): \(call)")
        }
        #expect(try await database.text("select errand.report('\(token)', 0.5)") == "false", why)
        for call in ["step('\(token)', 'x')", "steps('\(token)')"] {
            let complaint = try await database.complaint(of: "select errand.\(call)")
            #expect(
                complaint?.hasSuffix("expected an attempt that runs, got one that has ended") == true,
                "\(why): \(complaint ?? "none")")
        }
        #expect(try await database.text(state) == before, why)
    }

    @Test("a text that is no token, or names no attempt of the worker, changes nothing")
    func forged() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            let token = try #require(try await worker.pull().first).token
            let parts = token.split(separator: ".").map(String.init)
            #expect(parts.count == 3)
            let large = String(repeating: "f", count: 17)
            for forged in [
                "", "x", "1", "1.1", "\(token).1", "\(token) ", " \(token)", token.replacing(".", with: ":"),
                "-\(token)", "\(parts[0]).\(parts[1]).", "..", String(repeating: "1", count: 1000),
                "9.\(parts[1]).\(parts[2])", "\(parts[0]).9.\(parts[2])", "\(parts[0]).\(parts[1]).9",
                "\(large).\(large).\(large)", "ffffffffffffffff.\(parts[1]).\(parts[2])", "2.\(parts[1]).2",
                "\u{661}.\(parts[1]).\(parts[2])", "\(parts[0]).\(parts[1]).\(parts[2])\n",
            ] {
                try await expectStale(#""\#(forged)""#, in: database, "\(forged)")
            }
            try await expectStale("null", in: database, "null")
            #expect(try await database.text("select result from errand.done('{\(token)}')") == "completed")
            try await expectStale(token, in: database, "used")
        }
    }

    @Test("a token is stale once its attempt has ended, was cancelled, rescued or taken back")
    func ended() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 6)")
            let jobs = try await worker.pull(6)
            #expect(try await database.results("fail", [jobs[0]], ", '{x}', '{0}'") == ["completed"])
            #expect(try await database.results("snooze", [jobs[1]], ", '{0}'") == ["completed"])
            #expect(try await database.results("release", [jobs[2]]) == ["completed"])
            try await database.execute("select errand.cancel('{4}', 'x')")
            try await database.execute("update errand.claim set claimed_at = claimed_at - interval '31 s'")
            for _ in 1...2 {
                try await worker.ages()
                #expect(try await worker.renew([jobs[5]]) == [])
            }
            #expect(try await database.text("select state from errand.job where id = 5") == "available")
            try await database.execute(.silencesWorkers())
            try await database.execute("select errand_internal.rescue()")
            for job in jobs { try await expectStale(job.token, in: database, "job \(job.id)") }
            // Nor does an old token end the attempt of another worker.
            let other = try await PullingWorker(database, kinds: "none")
            let call = "errand.pull('{default}', '{noop}', 9, worker => '\(other.id)')"
            let again = try await PullingWorker.jobs(
                database.query(Statement("select id, token, attempt from \(call)")))
            #expect(again.map(\.id).sorted() == [1, 2, 3, 5, 6])
            for job in jobs { try await expectStale(job.token, in: database, "job \(job.id), which runs elsewhere") }
            #expect(try await database.results("done", again) == [String](repeating: "completed", count: 5))
        }
    }

    @Test("in one call each job has its own result, whatever the others have")
    func mixed() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.makeGuard()
            try await database.execute("insert into public.open values (1), (2)")
            try await database.execute(
                """
                select errand.enqueue(
                    'noop', jsonb_build_object('id', number), guard => case when number in (1, 2) then 'wanted' end)
                from generate_series(1, 7) as number
                """)
            let jobs = try await worker.pull(7)
            #expect(jobs.map(\.id) == [1, 2, 3, 4, 5, 6, 7])
            try await database.execute("delete from public.open where id = 2")
            try await database.execute("select errand.cancel('{7}', 'x')")
            let session = try await database.session()
            try await session.execute("begin")
            try await session.execute("select from errand.job where id = 5 for update")
            let tokens = jobs.map(\.token) + ["garbage", jobs[2].token, "0\(jobs[2].token)"]
            func done(_ outputs: String) async throws -> String {
                try await database.query(
                    Statement(
                        """
                        select string_agg(coalesce(job_id::text, '-') || ' ' || result, ', ' order by index)
                        from errand.done($1, \(outputs)) with ordinality as one(token, job_id, result, index)
                        """, [tokens])
                ).scalar(String.self)
            }
            let outputs = """
                array(
                    select case
                        when number = 4 then to_jsonb(repeat('x', 300000)) when number <> 6 then to_jsonb(number) end
                    from generate_series(1, 10) as number)
                """
            let results = [
                "1 completed", "2 obsolete", "3 completed", "4 completed", "5 again", "6 completed", "7 stale",
                "- stale",
                "3 stale", "3 stale",
            ]
            #expect(try await done(outputs) == results.joined(separator: ", "))
            #expect(
                try await database.text("select id, state, output from errand.history order by id")
                    == "1|succeeded|1\n2|obsolete|2\n3|succeeded|3\n6|succeeded|\n7|cancelled|")
            #expect(
                try await database.text("select id, error from errand.failed")
                    == "4|output: expected at most 262144 bytes as text, got 300002")
            #expect(try await database.text("select id, state from errand.job") == "5|running")
            try await session.execute("rollback")
            await session.close()
            #expect(
                try await done("null")
                    == "1 stale, 2 stale, 3 stale, 4 stale, 5 completed, 6 stale, 7 stale, - stale, 3 stale, 3 stale")
            #expect(try await database.text("select sum(jobs) from errand.finished_per_minute") == "6")
        }
    }

    @Test("a job's effect and its completion commit together, and roll back together")
    func together() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("create table public.effect (id bigint)")
            try await database.execute("select errand.enqueue('noop')")
            let job = try #require(try await worker.pull().first)
            let session = try await database.session()
            for (end, effects) in [("rollback", 0), ("commit", 1)] {
                try await session.execute("begin")
                try await session.execute("insert into public.effect values (1)")
                let result = try await session.query(Statement("select result from errand.done($1)", [[job.token]]))
                #expect(try result.scalar(String.self) == "completed")
                // Meanwhile no other session completes it.
                #expect(try await database.results("fail", [job], ", '{x}'") == ["again"])
                try await session.execute(Statement(end))
                #expect(try await database.count("from public.effect") == effects)
                #expect(try await database.count("from errand.history") == effects)
            }
            await session.close()
        }
    }

    @Test("arguments out of bounds are refused with what was expected and what came")
    func bounds() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            let calls: KeyValuePairs = [
                "pull('{a}', '{a}', 0)": "pull: max_jobs: expected 1 to 500, got 0",
                "pull('{a}', '{a}', 501)": "pull: max_jobs: expected 1 to 500, got 501",
                "pull('{a}', '{a}', null)": "pull: max_jobs: expected 1 to 500, got null",
                "pull('{}', '{a}')": "pull: queues: expected names, got {}",
                "pull(null, '{a}')": "pull: queues: expected names, got null",
                "pull('{a,null}', '{a}')": "pull: queues: expected names, got {a,NULL}",
                "pull('{a}', '{}')": "pull: kinds: expected names, got {}",
                "pull('{a}', null)": "pull: kinds: expected names, got null",
                "pull('{a}', '{null}')": "pull: kinds: expected names, got {NULL}",
                "pull('{a}', '{a}', lease => '0')": "pull: lease: expected up to 1 hour, got 00:00:00",
                "pull('{a}', '{a}', lease => '61 min')": "pull: lease: expected up to 1 hour, got 01:01:00",
                "pull('{a}', '{a}', lease => '-1 s')": "pull: lease: expected up to 1 hour, got -00:00:01",
                "pull('{a}', '{a}', lease => null)": "pull: lease: expected up to 1 hour, got null",
                "pull('{a}', '{a}', lease => '2 h', worker => '\(worker.id)', running => null)":
                    "pull: lease: expected up to 1 hour, got 02:00:00",
                "renew('\(worker.id)', null)": "renew: running: expected an array, got null",
                "done(null)": "done: tokens: expected an array, got null",
                "done('{a,b}', '{1}')": "done: outputs: expected 2 elements, as tokens has, got 1",
                "done('{a}', '{}')": "done: outputs: expected 1 elements, as tokens has, got 0",
                "fail(null, '{x}')": "fail: tokens: expected an array, got null",
                "fail('{a}', '{x,y}')": "fail: errors: expected 1 elements, as tokens has, got 2",
                "fail('{a,b}', '{x,y}', '{1 s}')": "fail: retry_after: expected 2 elements, as tokens has, got 1",
                "fail('{a,b}', '{x,y}', null, '{true}')": "fail: permanent: expected 2 elements, as tokens has, got 1",
                "fail('{a}', '{x}', null, '{true,true}')": "fail: permanent: expected 1 elements, as tokens has, got 2",
                "snooze(null, '{1 s}')": "snooze: tokens: expected an array, got null",
                "snooze('{a}', null)": "snooze: delays: expected an interval for each token, got null",
                "snooze('{a}', '{null}')": "snooze: delays: expected an interval for each token, got null",
                "snooze('{a,b}', '{1 s}')": "snooze: delays: expected 2 elements, as tokens has, got 1",
                "release(null)": "release: tokens: expected an array, got null",
                "put_kind('A')": "put_kind: kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got 'A'",
                "put_kind('a', priority => 5)": "put_kind: priority: expected 1 (first) to 4 (last), got 5",
                "put_kind('a', retry_delays => '{}')":
                    "put_kind: retry_delays: expected 1 to 1000 intervals up to 10 years, got {}",
                "put_kind('a', retry_delays => '{1 s,null}')":
                    "put_kind: retry_delays: expected 1 to 1000 intervals up to 10 years, got {00:00:01,NULL}",
                "put_kind('a', retry_delays => '{-1 s}')":
                    "put_kind: retry_delays: expected 1 to 1000 intervals up to 10 years, got {-00:00:01}",
                "put_kind('a', retry_delays => '{11 years}')":
                    #"put_kind: retry_delays: expected 1 to 1000 intervals up to 10 years, got {"11 years"}"#,
            ]
            for (call, message) in calls {
                #expect(try await database.complaint(of: "select errand.\(call)") == "ER422 \(message)", "\(call)")
            }
            for call in ["done('{}')", "fail('{}', '{}', '{}', '{}')", "snooze('{}', '{}')", "release('{}')"] {
                #expect(try await database.text("select * from errand.\(call)") == "")
            }
            #expect(try await database.count("from errand.worker") == 1)
            #expect(try await database.count("from errand.kind where name in ('a', 'A')") == 0)
        }
    }

    @Test("a kind belongs to the login that has stored it, and no other login changes it")
    func kinds() async throws {
        try await Logins.with { logins in
            let database = logins.database
            for login in [logins.shop, logins.mail] {
                try await database.execute(Statement("grant errand_worker to \(login)"))
            }
            let put = "select errand.put_kind('sum', max_attempts => 4)"
            #expect(try await database.complaint(of: put, as: logins.shop) == nil)
            #expect(
                try await database.complaint(of: put, as: logins.mail)
                    == "ER409 put_kind: kind sum: expected one of \(logins.mail), got one of \(logins.shop)")
            #expect(
                try await database.complaint(of: "select errand.put_kind('sum', priority => 3)", as: logins.member)
                    == nil)
            #expect(
                try await database.text("select queue, max_attempts, priority from errand.kind where name = 'sum'")
                    == "default|4|3")
        }
    }
}
