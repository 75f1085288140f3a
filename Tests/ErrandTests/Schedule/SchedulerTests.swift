import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Scheduler") struct SchedulerTests {
    private let logger = Logger(label: "test.scheduler") { _ in SwiftLogNoOpLogHandler() }

    private func loop(_ database: Database, _ definitions: [ScheduleDefinition] = []) -> SchedulerLoop {
        SchedulerLoop(database: database, definitions: definitions, logger: logger)
    }

    private func count(_ sql: String, in database: Database) async throws -> Int {
        try await database.query(Statement(sql)).scalar(Int.self)
    }

    @Test("five concurrent schedulers record each of 2,000 ticks once, with one job each")
    func fiveAtOnce() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_schedule('fast', 'every 1 s', 'noop', missed => 'all', max_catch_up => 20000)")
            try await database.setLastTick("date_trunc('second', now()) - interval '2000 s'")
            try await withThrowingTaskGroup { group in
                for _ in 0..<5 {
                    group.addTask {
                        var loop = loop(database)
                        try await loop.tickAll()
                    }
                }
                try await group.waitForAll()
            }
            let ticks = try await count(
                "select count(*) from errand.tick where outcome in ('enqueued', 'late')", in: database)
            #expect(ticks >= 2000)
            #expect(try await count("select count(*) from errand.job", in: database) == ticks)
            #expect(try await count("select count(distinct run_at) from errand.job", in: database) == ticks)
            #expect(
                try await count(
                    "select extract(epoch from max(tick) - min(tick))::bigint + 1 from errand.tick", in: database)
                    == ticks)
            #expect(
                try await count(
                    "select count(*) from errand.tick join errand.job on id = job_id and run_at = tick", in: database)
                    == ticks)
        }
    }

    @Test("a running scheduler enqueues all ticks of an outage, also more than a call takes")
    func manyAtOnce() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_schedule('fast', 'every 1 s', 'noop', missed => 'all', max_catch_up => 20000)")
            var loop = loop(database)
            // From here on it reads from its mark on.
            try await loop.tickAll()
            try await database.setLastTick("now() - interval '2000 s'")
            try await loop.tickAll()
            #expect(try await count("select count(*) from errand.tick where job_id is not null", in: database) >= 2000)
        }
    }

    @Test("after a call that failed, a scheduler finds what a failover has made due again")
    func failedCall() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('hourly', 'every 1 h', 'noop', missed => 'all')")
            var loop = loop(database)
            try await loop.tickAll()
            // As the row was three hours ago.
            try await database.setLastTick("now() - interval '3 hours'")
            try await database.execute("update errand.schedule set due_at = now() - interval '3 hours'")
            try await loop.tickAll()
            #expect(try await count("select count(*) from errand.tick", in: database) == 0, "it reads from its mark on")
            try await database.execute("alter function errand_internal.check_home() rename to away")
            await #expect(throws: PostgresError.self) { _ = try await loop.tick() }
            try await database.execute("alter function errand_internal.away() rename to check_home")
            try await loop.tickAll()
            #expect(try await count("select count(*) from errand.tick", in: database) == 3)
        }
    }

    @Test(
        "after three days down an hourly schedule enqueues as its rule says",
        arguments: [
            ("skip", ["skipped": 72]), ("latest", ["late": 1, "coalesced": 71]), ("all", ["late": 72]),
        ])
    func threeDaysDown(missed: String, outcomes: [String: Int]) async throws {
        try await withTestDatabase { database, _ in
            // Hourly, at a minute that is half an hour away, so no tick is on time.
            try await database.execute(
                Statement(
                    """
                    select errand.put_schedule(
                        'hourly', to_char(now() - interval '30 minutes', 'FMMI') || ' * * * *', 'noop', missed => $1)
                    """, [missed]))
            try await database.setLastTick("now() - interval '3 days'")
            var loop = loop(database)
            try await loop.tickAll()
            let rows = try await database.query("select outcome, count(*) from errand.schedule_ticks group by outcome")
            let counts = Dictionary(
                uniqueKeysWithValues: try rows.map { try $0.decode(String.self, Int.self) })
            #expect(counts == outcomes)
            #expect(
                try await count("select count(*) from errand.job", in: database) == (outcomes["late"] ?? 0))
        }
    }

    @Test("a schedule of which some due ticks can't be recorded is late")
    func lateInPart() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop', missed => 'skip')")
            try await database.setLastTick("now() - interval '900 s'")
            for statement: Statement in [
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    raise exception 'not now' using errcode = '40001';
                end
                $$
                """,
                """
                create trigger refuse before insert on errand.tick
                for each row when (new.tick > now() - interval '300 s') execute function public.refuse()
                """,
            ] {
                try await database.execute(statement)
            }
            await #expect(throws: PostgresError.self) {
                var loop = loop(database)
                try await loop.tickAll()
            }
            #expect(try await count("select count(*) from errand.tick", in: database) == 600)
            let late = "select count(*) from errand.schedules where problem = 'late: does a scheduler run?'"
            #expect(try await count(late, in: database) == 1)
        }
    }

    @Test("a paused schedule enqueues nothing; after a resume it continues, and skips the ticks of the pause")
    func pause() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop', missed => 'all')")
            try await database.setLastTick("now() - interval '1 hour'")
            try await database.execute("select errand.pause_schedule('fast', 'a test')")
            var loop = loop(database)
            try await loop.tickAll()
            #expect(try await count("select count(*) from errand.job", in: database) == 0)
            try await database.execute("select errand.resume_schedule('fast')")
            #expect(try await loop.tick() <= .seconds(1))
            try await Task.sleep(for: .milliseconds(1100))
            try await loop.tickAll()
            // As many as the ticks since then, however late this is, and none of the hour before.
            let fromPause = """
                select count(*) from errand.schedule_ticks
                where job_id is not null and tick <= (select max(done_at) from errand.audit where action = 'resume_schedule')
                """
            #expect(try await count(fromPause, in: database) == 0)
            #expect(try await count("select count(*) from errand.job", in: database) >= 1)
        }
    }

    @Test("each tick of a pause is on record as paused, and gives no job")
    func pausedTicks() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('hourly', 'every 1 h', 'noop', missed => 'all')")
            try await database.setLastTick("now() - interval '1 day'")
            try await database.execute("select errand.pause_schedule('hourly', 'a test')")
            var loop = loop(database)
            try await loop.tickAll()
            #expect(
                try await count("select count(*) from errand.schedule_ticks where outcome = 'paused'", in: database)
                    == 24)
            try await database.execute("select errand.resume_schedule('hourly')")
            try await loop.tickAll()
            #expect(try await count("select count(*) from errand.tick", in: database) == 24)
            #expect(try await count("select count(*) from errand.job", in: database) == 0)
        }
    }

    @Test("a schedule that can't tick shows why, and stops none of the others")
    func problems() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('broken', '0 23 * * *', 'noop')")
            try await database.execute("select errand.put_schedule('never', '0 0 28 2 *', 'noop')")
            try await database.execute("select errand.put_schedule('refused', 'every 1 s', 'noop')")
            try await database.execute("select errand.put_schedule('sound', 'every 1 s', 'noop')")
            try await database.execute("delete from errand.schedule_plan")
            // Values that the functions would reject.
            try await database.execute(
                """
                update errand.schedule
                set
                    last_tick = now() - interval '10 s', due_at = now(),
                    limit_key = case name when 'refused' then '' end,
                    cron = case name when 'broken' then '0 25 * * *' when 'never' then '0 0 30 2 *' end
                """)
            var loop = loop(database)
            try await loop.tickAll()
            let rows = try await database.query("select name, problem from errand.schedules order by name")
            let problems = try rows.map { try $0.decode(String.self, String?.self) }
            #expect(problems.map(\.0) == ["broken", "never", "refused", "sound"])
            #expect(problems[0].1 == "hour: expected * or 0 to 23, got 25")
            #expect(problems[1].1 == "cron: expected a date that comes, got 0 0 30 2 *")
            #expect(problems[2].1?.hasPrefix("its jobs are refused: ") == true)
            #expect(problems[3].1 == nil)
            #expect(try await count("select count(*) from errand.job", in: database) >= 10)
            // The fixed schedule ticks.
            try await database.execute("select errand.put_schedule('broken', '0 23 * * *', 'noop')")
            try await loop.tickAll()
            let fixed: Statement = """
                select count(*) from errand.schedules where name = 'broken' and problem is null and next_tick > now()
                """
            #expect(try await database.query(fixed).scalar(Int.self) == 1)
        }
    }

    @Test("a schedule that is locked by an open transaction delays no other, and loses no tick")
    func heldByOthers() async throws {
        try await withTestDatabase { database, _ in
            for name in ["held", "other"] {
                try await database.execute(
                    Statement("select errand.put_schedule($1, 'every 1 s', 'noop', missed => 'all')", [name]))
            }
            try await database.setLastTick("now() - interval '30 s'")
            var loop = loop(database)
            let jobs: Statement = """
                select count(*) filter (where schedule = 'held'), count(*) filter (where schedule = 'other') from errand.tick
                """
            try await database.transaction { transaction in
                try await transaction.execute("select from errand.schedule where name = 'held' for update")
                try await loop.tickAll()
                let (held, other) = try await database.query(jobs)[0].decode(Int.self, Int.self)
                #expect(held == 0)
                #expect(other >= 30)
            }
            try await loop.tickAll()
            let (held, _) = try await database.query(jobs)[0].decode(Int.self, Int.self)
            #expect(held >= 30)
        }
    }

    @Test("an edit by SQL counts from the next read on, and none of its new times was missed")
    func liveEdit() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('one', 'every 1 h', 'noop', missed => 'all')")
            try await database.setLastTick("now() - interval '3 hours'")
            var loop = loop(database)
            try await loop.tickAll()
            #expect(try await count("select count(*) from errand.job", in: database) == 3)
            let edited = try await database.query("select now()::text").scalar(String.self)
            let edit: Statement = "select errand.put_schedule('one', '* * * * * *', 'noop', missed => 'all')"
            #expect(try await database.query(edit).scalar(String.self) == "changed")
            #expect(try await database.query(edit).scalar(String.self) == "unchanged")
            try await loop.tickAll()
            // As many as the seconds since the edit, however late this is.
            let before = "select count(*) from errand.schedule_ticks where job_id is not null and tick <= '\(edited)'"
            #expect(try await count(before, in: database) == 3)
            let next: Statement = "select next_tick - now() <= interval '1 second' from errand.schedules"
            #expect(try await database.query(next).scalar(Bool.self))
            try await database.execute("select errand.drop_schedule('one')")
            #expect(try await loop.tick() == SchedulerLoop.longestDelay)
            #expect(try await count("select count(*) from errand.schedule_ticks", in: database) >= 3)
        }
    }

    @Test("operators' changes last until the program's definition changes")
    func definitions() async throws {
        try await withTestDatabase { database, _ in
            let cron: Statement = "select cron from errand.schedule where name = 'nightly'"
            func start(_ expression: String) async throws -> String {
                let definition = try ScheduleDefinition(
                    "nightly", .cron(expression, timeZone: "Europe/Paris"), job: Noop())
                var loop = loop(database, [definition])
                try await loop.tickAll()
                return try await database.query(cron).scalar(String.self)
            }
            #expect(try await start("0 3 * * *") == "0 3 * * *")
            try await database.execute("select errand.put_schedule('nightly', '0 4 * * *', 'noop')")
            #expect(try await start("0 3 * * *") == "0 4 * * *")
            #expect(try await start("0 5 * * *") == "0 5 * * *")
        }
    }

    @Test("a call that waited for another one that recorded the same ticks records none of them")
    func recordedMeanwhile() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop', missed => 'all')")
            try await database.setLastTick("now() - interval '30 s'")
            let record: Statement = """
                with begun as materialized (
                    select now() as snapshot, pg_advisory_xact_lock(1)
                )
                select count(*)
                from begun, errand_internal.tick_v1(case when snapshot is null then now() end) as pass, unnest(pass.ticks)
                """
            let late = try await database.transaction { transaction in
                let first = try await transaction.query(record).scalar(Int.self)
                #expect(first >= 29)
                let late = Task { try await database.query(record).scalar(Int.self) }
                #expect(
                    try await database.becomes(
                        "count(*) = 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'"
                    ))
                return late
            }
            // Those of the seconds since then are its own.
            let ticks = try await late.value
            #expect(ticks < 29)
            let doubles = "from errand.job group by run_at having count(*) > 1"
            #expect(try await database.query(Statement("select run_at \(doubles)")).isEmpty)
        }
    }

    // `make bench SCENARIO=scheduler` measures how late ticks are.
    @Test("the running service enqueues a schedule that is put meanwhile")
    func runs() async throws {
        try await withTestDatabase { database, _ in
            let service = Scheduler(database: database, logger: logger)
            let running = Task { try await service.run() }
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop')")
            #expect(try await database.becomes("count(*) >= 2 from errand.job"))
            running.cancel()
            try await running.value
        }
    }
}
