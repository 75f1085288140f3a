import ErrandTestKit
import Postgres
import Testing

@Suite("Bounds, days without ticks and jitter of schedules") struct ScheduleBoundsTests {
    /// What became of ticks: `outcome: count, …`.
    private static let outcomes = """
        select coalesce(string_agg(outcome || ': ' || count, ', ' order by outcome), '')
        from (select outcome, count(*) from errand.schedule_ticks group by outcome) as counted
        """

    private func tick(_ database: Database) async throws -> String {
        try await database.execute("update errand.schedule set due_at = now() - interval '1 s'")
        try await database.execute("select errand.tick_schedules()")
        return try await database.text(Self.outcomes)
    }

    @Test("there is no tick before its start and none from its end on; then nothing is due, and that is no problem")
    func bounds() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                select errand.put_schedule(
                    'hourly', 'every 1 h', 'noop', missed => 'all',
                    starts_at => date_trunc('hour', now() - interval '5 h'),
                    ends_at => date_trunc('hour', now() - interval '1 h'))
                """)
            #expect(try await database.text("select next_tick is null from errand.schedules") == "true")
            try await database.setLastTick("now() - interval '3 days'")
            #expect(try await tick(database) == "late: 4")
            #expect(try await tick(database) == "late: 4", "an ended schedule that is looked at once more")
            let state = "select coalesce(problem, 'none') || ' ' || (next_tick is null) from errand.schedules"
            #expect(try await database.text(state) == "none true")
            #expect(try await database.count("from errand.preview_schedule('hourly')") == 0)
            // One that still comes.
            try await database.execute(
                """
                select errand.put_schedule(
                    'hourly', 'every 1 h', 'noop', ends_at => date_trunc('hour', now()) + interval '90 min')
                """)
            #expect(try await database.count("from errand.preview_schedule('hourly')") == 1)
            let plan = "select cardinality(ticks) || ' ' || (ticks[2] = 'infinity') from errand.schedule_plan"
            #expect(try await database.text(plan) == "2 true")
        }
    }

    @Test("ticks of an excepted day get no job, are on record with the reason, and don't count as missed")
    func exceptions() async throws {
        try await withTestDatabase { database, _ in
            // Two days ago, and today's first ticks too if any has passed.
            try await database.execute(
                "select errand.put_schedule('six', '0 */6 * * *', 'noop', missed => 'all', time_zone => 'Asia/Tokyo')")
            try await database.execute(
                """
                update errand.schedule
                set exceptions = jsonb_build_object(
                    ((now() at time zone 'Asia/Tokyo')::date - 2)::text, 'the shop was closed')
                """)
            try await database.execute(
                """
                update errand.schedule set last_local = null,
                    last_tick = ((now() at time zone 'Asia/Tokyo')::date - 3)::timestamp at time zone 'Asia/Tokyo'
                """)
            try await database.execute("delete from errand.schedule_plan")
            _ = try await tick(database)
            let excepted = """
                from errand.schedule_ticks
                where outcome = 'excepted' and reason = 'the shop was closed' and job_id is null
                    and local::date = (now() at time zone 'Asia/Tokyo')::date - 2
                """
            #expect(try await database.count(excepted) == 4)
            // Of the day before at 6, 12 and 18, and of the day after at least.
            #expect(try await database.count("from errand.schedule_ticks where outcome = 'late'") >= 7)
            #expect(
                try await database.count(
                    """
                    from errand.job
                    where run_at at time zone 'Asia/Tokyo' >= (now() at time zone 'Asia/Tokyo')::date - 2
                        and run_at at time zone 'Asia/Tokyo' < (now() at time zone 'Asia/Tokyo')::date - 1
                    """) == 0)
        }
    }

    @Test("days without ticks are previewed with their reason, and a plan goes past any number of them")
    func exceptionsToCome() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('often', 'every 1 s', 'noop')")
            for day in 1...3 {
                try await database.execute(
                    Statement(
                        "select errand.put_schedule_exception('often', current_date + $1::int, 'away')",
                        [day]))
            }
            let shown = """
                from errand.preview_schedule('often', 3, current_date + 2)
                where note = 'no job: away' and run_at is null
                """
            #expect(try await database.count(shown) == 3)
            // Of a daily one the next ticks are days away.
            try await database.execute("select errand.put_schedule('daily', '0 0 * * *', 'noop')")
            for day in 1...3 {
                try await database.execute(
                    Statement(
                        "select errand.put_schedule_exception('daily', current_date + $1::int, 'away')",
                        [day]))
            }
            let next =
                "select next_tick::date - current_date from errand.schedules where name = 'daily'"
            #expect(try await database.text(next) == "4")
            // It is looked at when the next tick would have come, to record it.
            let due = """
                select due_at = current_date + 1
                    or due_at < now() + interval '61 min'
                from errand.schedule where name = 'daily'
                """
            #expect(try await database.text(due) == "true")
            try await database.execute(
                "select errand.drop_schedule_exception('daily', current_date + 1)")
            #expect(try await database.text(next) == "1")
        }
    }

    @Test(
        "an exception is refused for a day that has passed, without a reason, one too many, and on an unknown schedule")
    func refused() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('daily', '@daily', 'noop')")
            try await database.execute(
                "select errand.put_schedule_exception('daily', current_date + n, 'why') from generate_series(1, 100) as n"
            )
            for (call, state) in [
                ("put_schedule_exception('daily', current_date - 2, 'why')", "ER422"),
                ("put_schedule_exception('daily', null, 'why')", "ER422"),
                ("put_schedule_exception('daily', current_date + 2, ' ')", "ER422"),
                ("put_schedule_exception('daily', current_date + 200, 'why')", "ER422"),
                ("put_schedule_exception('dayly', current_date + 2, 'why')", "ER404"),
                ("drop_schedule_exception('daily', current_date + 200)", "ER404"),
                ("drop_schedule_exception('dayly', current_date + 2)", "ER404"),
                ("put_schedule('daily', '@daily', 'noop', overlap => 'queue')", "ER422"),
                ("put_schedule('daily', '@daily', 'noop', jitter => '25 h')", "ER422"),
                ("put_schedule('daily', '@daily', 'noop', jitter => '-1 s')", "ER422"),
                ("put_schedule('daily', '@daily', 'noop', priority => 9)", "ER422"),
                ("put_schedule('daily', '@daily', 'noop', subject => '')", "ER422"),
                ("put_schedule('daily', '@daily', 'noop', limit_key => 'a*')", "ER422"),
                ("put_schedule('daily', '@daily', 'noop', ends_at => 'infinity')", "ER422"),
                ("put_schedule('daily', '@daily', 'noop', starts_at => now(), ends_at => now())", "ER422"),
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select errand.\(call)"))
                }
                #expect(error?.sqlState == state, "\(call)")
            }
        }
    }

    @Test("with a jitter each job starts within it after its tick, where the preview said")
    func jitter() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_schedule('often', 'every 1 min', 'noop', missed => 'all', jitter => '10 min')")
            let start = try await database.text("select now() - interval '100 min'")
            try await database.setLastTick("'\(start)'::timestamptz")
            _ = try await tick(database)
            let jobs = "from errand.schedule_ticks as past join errand.job on job.id = past.job_id"
            #expect(try await database.count(jobs) >= 100)
            #expect(
                try await database.count(
                    "\(jobs) where job.run_at not between past.tick and past.tick + interval '10 min'") == 0)
            #expect(try await database.count("\(jobs) where job.run_at > past.tick + interval '5 min'") > 20)
            #expect(
                try await database.count(
                    """
                    \(jobs)
                    join errand.preview_schedule('often', 90, '\(start)') as preview on preview.tick = past.tick
                    where preview.run_at = job.run_at
                    """) == 90)
        }
    }
}
