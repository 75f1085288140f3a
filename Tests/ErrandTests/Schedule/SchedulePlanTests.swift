import ErrandTestKit
import Postgres
import Testing

@Suite("Planned ticks") struct SchedulePlanTests {
    @Test("a plan has the ticks of two days, 2 to 100 of them")
    func size() async throws {
        try await withTestDatabase { database, _ in
            for (cron, expected) in [
                ("every 1 s", 100...100), ("* * * * *", 100...100), ("every 1 h", 48...48), ("0 * * * *", 48...48),
                ("0 3 * * *", 2...3), ("@yearly", 2...2), ("every 400 d", 2...2),
            ] {
                try await database.execute(Statement("select errand.put_schedule('one', $1, 'noop')", [cron]))
                let count = try await database.query(
                    "select cardinality(ticks)::int8 from errand.schedule_plan"
                ).scalar(Int.self)
                #expect(expected.contains(count), "\(cron): \(count)")
            }
            try await database.execute("select errand.drop_schedule('one')")
            #expect(try await database.count("from errand.schedule_plan") == 0)
        }
    }

    /// A daily schedule in Paris that ticks in some 30 minutes, and when.
    private func putDaily(_ database: Database) async throws -> String {
        try await database.execute(
            """
            select errand.put_schedule(
                'daily', to_char((now() + interval '30 min') at time zone 'Europe/Paris', 'FMMI FMHH24') || ' * * *',
                'noop', time_zone => 'Europe/Paris')
            """)
        return try await database.text("select next_tick from errand.schedules")
    }

    @Test("a planned tick that no longer shows its local time gives no job; the schedule is planned anew")
    func otherRules() async throws {
        try await withTestDatabase { database, _ in
            let right = try await putDaily(database)
            // The rules of the session that made the plan were an hour ahead.
            try await database.execute(
                "update errand.schedule_plan set ticks[1] = ticks[1] - interval '1 hour'")
            try await database.execute("update errand.schedule set due_at = now(), next_tick = now()")
            try await database.execute("select errand.tick_schedules()")
            #expect(try await database.count("from errand.tick") == 0)
            #expect(try await database.text("select next_tick from errand.schedules") == right)
        }
    }

    @Test("a local time that has ticked by other rules of its zone doesn't tick again")
    func tickedByOtherRules() async throws {
        try await withTestDatabase { database, _ in
            let today = try await putDaily(database)
            try await database.execute(
                """
                update errand.schedule as one
                set last_tick = now() - interval '30 min', last_local = plan.locals[1], due_at = now()
                from errand.schedule_plan as plan
                """)
            try await database.execute("delete from errand.schedule_plan")
            try await database.execute("select errand.tick_schedules()")
            #expect(try await database.count("from errand.tick") == 0)
            let isTomorrow = "select next_tick > '\(today)'::timestamptz + interval '22 hours' from errand.schedules"
            #expect(try await database.text(isTomorrow) == "true")
        }
    }

    @Test("a plan is made anew within an hour, before it ends; that is no tick")
    func renewal() async throws {
        try await withTestDatabase { database, _ in
            let next = try await putDaily(database)
            let renewal =
                "select renew_at between now() + interval '40 min' and now() + interval '60 min' from errand.schedule_plan"
            #expect(try await database.text(renewal) == "true")
            try await database.execute("update errand.schedule_plan set renew_at = now() - interval '1 s'")
            try await database.execute("update errand.schedule set due_at = now() - interval '1 s'")
            try await database.execute("select errand.tick_schedules()")
            #expect(try await database.text(renewal) == "true")
            #expect(try await database.count("from errand.tick") == 0)
            #expect(try await database.text("select next_tick from errand.schedules") == next)
        }
    }

    @Test("a preview shows the ticks that are planned, and computes those that follow and those that were")
    func preview() async throws {
        try await withTestDatabase { database, _ in
            _ = try await putDaily(database)
            try await database.execute("update errand.schedule_plan set ticks[1] = ticks[1] + interval '1 hour'")
            let first = "select note from errand.preview_schedule('daily', 5) order by tick limit 1"
            #expect(try await database.text(first) == "planned by rules of the time zone that have changed")
            let all = "select count(*), count(distinct local::date) from errand.preview_schedule('daily', 10)"
            #expect(try await database.text(all) == "10|10")
            let past = "select count(*) from errand.preview_schedule('daily', 5, now() - interval '3 days')"
            #expect(try await database.text(past) == "5")
        }
    }

    @Test("a mark leaves out what was due before it; a call without a mark finds it")
    func marks() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop')")
            try await database.setLastTick("now() - interval '30 s'")
            try await database.execute("update errand.schedule set due_at = now() - interval '30 s'")
            #expect(
                try await database.text("select ticks is null from errand_internal.tick_v1(now() - interval '5 s')")
                    == "true")
            let all =
                "select cardinality(ticks) >= 30, mark <= now() - interval '0.5 s', due_at > now() from errand_internal.tick_v1()"
            #expect(try await database.text(all) == "true|true|true")
        }
    }
}
