import ErrandTestKit
import Postgres
import Testing

@Suite("A schedule of one's own is nobody else's") struct OwnScheduleTests {
    private static let put = "select errand.put_own_schedule('shop_report', 'every 1 s', 'shop_report')"

    @Test("its login and its members change it, and other logins neither see nor change it")
    func rights() async throws {
        try await Logins.with { logins in
            #expect(try await logins.query(Self.put, as: logins.shop).scalar(String.self) == "created")
            #expect(try await logins.query(Self.put, as: logins.member).scalar(String.self) == "unchanged")
            let calls = [
                "errand.pause_own_schedule('shop_report', 'closed')", "errand.resume_own_schedule('shop_report')",
                "errand.drop_own_schedule('shop_report')",
            ]
            for call in calls {
                let error = await #expect(throws: PostgresError.self) {
                    try await logins.query("select \(call)", as: logins.mail)
                }
                #expect(error?.sqlState == "ER404", "\(call)")
            }
            let taken = await #expect(throws: PostgresError.self) {
                try await logins.query(
                    "select errand.put_own_schedule('shop_report', '0 1 * * *', 'noop')", as: logins.mail)
            }
            #expect(taken?.sqlState == "ER409")
            // The refused call has changed nothing.
            #expect(try await logins.query(Self.put, as: logins.shop).scalar(String.self) == "unchanged")
            let seen = "select count(*) from errand.own_schedules() where paused_reason is null"
            #expect(try await logins.query(seen, as: logins.mail).scalar(Int.self) == 0)
            #expect(try await logins.query(seen, as: logins.member).scalar(Int.self) == 1)
            for call in calls { _ = try await logins.query("select \(call)::text", as: logins.member) }
            #expect(try await logins.query(seen, as: logins.shop).scalar(Int.self) == 0)
        }
    }

    @Test("a schedule of operators or of an app can't be taken over")
    func others() async throws {
        try await Logins.with { logins in
            try await logins.database.execute("select errand.put_schedule('nightly', '0 3 * * *', 'noop')")
            for call in [
                "errand.put_own_schedule('nightly', '0 3 * * *', 'noop')",
                "errand.put_own_schedule('nightly', '0 4 * * *', 'noop')", "errand.drop_own_schedule('nightly')",
            ] {
                await #expect(throws: PostgresError.self, "\(call)") {
                    try await logins.query("select \(call)::text", as: logins.shop)
                }
            }
            let stored = "select cron || coalesce(owner, '') from errand.schedule"
            #expect(try await logins.database.query(Statement(stored)).scalar(String.self) == "0 3 * * *")
        }
    }

    @Test("its jobs are its login's own, and it ticks while that may enqueue")
    func ticks() async throws {
        try await Logins.with { logins in
            let database = logins.database
            _ = try await logins.query(Self.put, as: logins.shop)
            func ticks() async throws {
                try await database.execute(
                    "update errand.schedule set last_tick = now() - interval '2 s', due_at = now()")
                try await database.execute("select errand_internal.plan_schedule('shop_report')")
                try await database.execute("update errand.schedule set due_at = now()")
                try await database.execute("select errand_internal.tick_v1()")
            }
            try await ticks()
            let job = try await logins.query(
                """
                select last_ticks -> 0 ->> 'outcome', (last_ticks -> 0 ->> 'job_id')::bigint from errand.own_schedules()
                """, as: logins.member)[0]
            let (outcome, id) = try job.decode(String.self, Int64.self)
            #expect(outcome == "enqueued" || outcome == "late")
            let own = "select count(*) from errand.job(\(id))"
            #expect(try await logins.query(own, as: logins.shop).scalar(Int.self) == 1)
            #expect(try await logins.query(own, as: logins.mail).scalar(Int.self) == 0)

            try await database.execute(Statement("revoke errand_enqueuer from \(logins.shop)"))
            let jobs = try await database.query("select count(*) from errand.job").scalar(Int.self)
            // The next tick, which isn't on record yet.
            try await Task.sleep(for: .milliseconds(1100))
            try await ticks()
            #expect(try await database.query("select count(*) from errand.job").scalar(Int.self) == jobs)
            let problem = try await database.query("select problem from errand.schedules").scalar(String.self)
            #expect(problem.contains("expected an owner who may enqueue"))
            try await database.execute(Statement("grant errand_enqueuer to \(logins.shop)"))
            try await ticks()
            #expect(try await database.query("select problem is null from errand.schedules").scalar(Bool.self))
            #expect(try await database.query("select count(*) from errand.job").scalar(Int.self) > jobs)
        }
    }

    @Test("a login has 100 of them at most")
    func most() async throws {
        try await Logins.with { logins in
            let put = "select errand.put_own_schedule('s' || i, '0 3 * * *', 'noop') from generate_series(1, $1) as i"
            _ = try await logins.query(put, as: logins.shop, [100])
            let error = await #expect(throws: PostgresError.self) {
                try await logins.query(put, as: logins.shop, [101])
            }
            #expect(error?.sqlState == "ER422")
            #expect(try await logins.query(put, as: logins.shop, [100]).column(0, as: String.self).last == "unchanged")
        }
    }
}
