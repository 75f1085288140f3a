import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Jobs of schedules") struct ScheduleJobsTests {
    /// Lets an hourly schedule tick once, and returns what became of that.
    private func tick(_ database: Database) async throws -> String {
        try await database.execute(
            """
            update errand.schedule as one
            set last_tick = now() - interval '1 hour', last_local = null, due_at = now() - interval '1 s'
            """)
        try await database.execute("delete from errand.schedule_plan")
        try await database.execute("delete from errand.tick")
        try await database.execute("select errand.tick_schedules()")
        return try await database.text(
            "select coalesce(string_agg(outcome, ', ' order by tick), '') from errand.tick where outcome <> 'coalesced'"
        )
    }

    @Test("they have the priority, tags, limit and user of their schedule, and the owner may follow them")
    func fields() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                select errand.put_schedule(
                    'often', 'every 1 h', 'noop', priority => 3, tags => '{daily,mail}', limit_key => 'mail:17',
                    subject => 'user 17', max_lateness => '2 h')
                """)
            _ = try await tick(database)
            let jobs = """
                from errand.job
                where priority = 3 and tags = '{daily,mail}' and limit_key = 'mail:17' and subject = 'user 17'
                    and unique_key is null
                """
            #expect(try await database.count(jobs) == 1)
            _ = try await database.query("select errand.run_schedule('often', 'now')")
            #expect(try await database.count(jobs) == 2)
        }
    }

    @Test("with skip a tick gets no job while an earlier one is unfinished, and run by hand is refused")
    func skip() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_schedule('often', 'every 1 h', 'noop', overlap => 'skip', max_lateness => '2 h')")
            #expect(try await tick(database) == "enqueued")
            #expect(try await tick(database) == "overlapped")
            #expect(try await database.count("from errand.job") == 1)
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.run_schedule('often', 'now')")
            }
            #expect(error?.sqlState == "ER409")
            try await database.execute("select errand.cancel(array(select id from errand.job), 'a test')")
            #expect(try await tick(database) == "enqueued")
            #expect(try await database.count("from errand.job") == 1)
        }
    }

    @Test("several ticks of one pass overlap each other too")
    func skipInOnePass() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_schedule('often', 'every 1 s', 'noop', missed => 'all', overlap => 'skip')")
            try await database.setLastTick("now() - interval '30 s'")
            try await database.execute("update errand.schedule set due_at = now() - interval '1 s'")
            try await database.execute("select errand.tick_schedules()")
            #expect(try await database.count("from errand.job") == 1)
            #expect(try await database.count("from errand.tick where outcome = 'enqueued'") == 1)
            #expect(try await database.count("from errand.tick where outcome = 'overlapped'") >= 28)
        }
    }

    @Test("with replace a tick cancels the unfinished job, and its child learns of that")
    func replace() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_schedule('often', 'every 1 h', 'noop', overlap => 'replace', max_lateness => '2 h')")
            #expect(try await tick(database) == "enqueued")
            let first = try await database.text("select max(id) from errand.job")
            try await database.execute(
                Statement("select errand.enqueue('noop', after => array[\(first)], if_parent_fails => 'cancel')"))
            #expect(try await tick(database) == "enqueued")
            let reason = "select state || ': ' || reason from errand.history where id = \(first)"
            #expect(try await database.text(reason) == "cancelled: replaced by a later tick of its schedule")
            #expect(try await database.count("from errand.job where kind = 'noop'") == 1)
            _ = try await database.query("select errand.run_schedule('often', 'now')")
            #expect(try await database.count("from errand.job") == 1)
        }
    }

    @Test("the user's erasure drops the schedule with its jobs")
    func erasure() async throws {
        try await withTestDatabase { database, _ in
            for user in ["17", "18"] {
                try await database.execute(
                    Statement("select errand.put_schedule($1, '@daily', 'noop', subject => $1)", ["user_\(user)"]))
                _ = try await database.query(Statement("select errand.run_schedule($1, 'now')", ["user_\(user)"]))
            }
            try await database.execute("select errand_internal.erase_subject('user_17', 'a wish')")
            #expect(try await database.text("select string_agg(name, ',') from errand.schedules") == "user_18")
            #expect(try await database.count("from errand.job") == 1)
        }
    }

    @Test("a program defines all of it, and what is the same stays unchanged")
    func definition() async throws {
        try await withTestDatabase { database, _ in
            var definition = ScheduleDefinition("often", .every(.seconds(30)), kind: "noop")
            #expect(try await database.query(definition.statement).scalar(String.self) == "created")
            #expect(try await database.query(definition.statement).scalar(String.self) == "unchanged")
            definition.overlap = .replace
            definition.jitter = .seconds(90)
            definition.startsAt = try await database.query("select now() + interval '1 day'").scalar(Timestamp.self)
            definition.endsAt = try await database.query("select now() + interval '9 days'").scalar(Timestamp.self)
            definition.priority = 1
            definition.tags = ["daily"]
            definition.limitKey = "mail"
            definition.subject = "user 17"
            #expect(try await database.query(definition.statement).scalar(String.self) == "changed")
            #expect(try await database.query(definition.statement).scalar(String.self) == "unchanged")
            #expect(
                try await database.count(
                    """
                    from errand.schedule
                    where overlap = 'replace' and jitter = '90 s' and priority = 1 and tags = '{daily}'
                        and limit_key = 'mail' and subject = 'user 17' and ends_at > starts_at + interval '7 days'
                        and next_tick between starts_at and starts_at + interval '30 s'
                    """) == 1)
        }
    }
}
