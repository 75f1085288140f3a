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
            try await database.execute(
                "update errand.schedule set last_tick = date_trunc('second', now()) - interval '2000 s'")
            try await withThrowingTaskGroup { group in
                for _ in 0..<5 {
                    group.addTask {
                        var loop = loop(database)
                        for _ in 0..<2 { _ = try await loop.refresh() }
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
            try await database.execute("update errand.schedule set last_tick = now() - interval '3 days'")
            var loop = loop(database)
            for _ in 0..<2 { _ = try await loop.refresh() }
            let rows = try await database.query("select outcome, count(*) from errand.schedule_ticks group by outcome")
            let counts = Dictionary(
                uniqueKeysWithValues: try rows.map { try $0.decode(String.self, Int.self) })
            #expect(counts == outcomes)
            #expect(
                try await count("select count(*) from errand.job", in: database) == (outcomes["late"] ?? 0))
        }
    }

    @Test("a next tick that was changed by hand is the right one after the next read")
    func wrongNextTick() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('nightly', '0 3 * * *', 'noop')")
            var loop = loop(database)
            _ = try await loop.refresh()
            let next: Statement = "select next_tick from errand.schedule"
            let right = try await database.query(next).scalar(Timestamp.self)
            for wrong in ["now() + interval '1 year'", "now() - interval '1 year'", "null"] {
                try await database.execute(Statement("update errand.schedule set next_tick = \(wrong)"))
                _ = try await loop.refresh()
                #expect(try await database.query(next).scalar(Timestamp.self) == right)
            }
        }
    }

    @Test("a schedule of which some due ticks can't be recorded is late")
    func lateInPart() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop', missed => 'skip')")
            try await database.execute("update errand.schedule set last_tick = now() - interval '900 s'")
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
                for _ in 0..<2 { _ = try await loop.refresh() }
            }
            #expect(try await count("select count(*) from errand.tick", in: database) == 500)
            let late = "select count(*) from errand.schedules where problem = 'late: does a scheduler run?'"
            #expect(try await count(late, in: database) == 1)
        }
    }

    @Test("a paused schedule enqueues nothing; after a resume it continues, and skips the ticks of the pause")
    func pause() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop', missed => 'all')")
            try await database.execute("update errand.schedule set last_tick = now() - interval '1 hour'")
            try await database.execute("select errand.pause_schedule('fast', 'a test')")
            var loop = loop(database)
            #expect(try await loop.refresh() == SchedulerLoop.longestDelay)
            #expect(try await count("select count(*) from errand.job", in: database) == 0)
            try await database.execute("select errand.resume_schedule('fast')")
            let pause = try await loop.refresh()
            #expect(pause <= .seconds(1))
            try await Task.sleep(for: .milliseconds(1100))
            _ = try await loop.refresh()
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
            try await database.execute("update errand.schedule set last_tick = now() - interval '1 day'")
            try await database.execute("select errand.pause_schedule('hourly', 'a test')")
            var loop = loop(database)
            _ = try await loop.refresh()
            #expect(
                try await count("select count(*) from errand.schedule_ticks where outcome = 'paused'", in: database)
                    == 24)
            try await database.execute("select errand.resume_schedule('hourly')")
            _ = try await loop.refresh()
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
            try await database.execute("alter table errand.schedule disable trigger all")
            // Values that the functions would reject.
            try await database.execute(
                """
                update errand.schedule
                set
                    last_tick = now() - interval '10 s',
                    kind = case name when 'refused' then '?' else kind end,
                    cron = case name when 'broken' then '0 25 * * *' when 'never' then '0 0 30 2 *' end
                """)
            var loop = loop(database)
            _ = try await loop.refresh()
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
            _ = try await loop.refresh()
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
            try await database.execute("update errand.schedule set last_tick = now() - interval '30 s'")
            var loop = loop(database)
            let jobs: Statement = """
                select count(*) filter (where schedule = 'held'), count(*) filter (where schedule = 'other') from errand.tick
                """
            try await database.transaction { transaction in
                try await transaction.execute("select from errand.schedule where name = 'held' for update")
                _ = try await loop.refresh()
                let (held, other) = try await database.query(jobs)[0].decode(Int.self, Int.self)
                #expect(held == 0)
                #expect(other >= 30)
            }
            _ = try await loop.refresh()
            let (held, _) = try await database.query(jobs)[0].decode(Int.self, Int.self)
            #expect(held >= 30)
        }
    }

    @Test("an edit by SQL counts from the next read on, and none of its new times was missed")
    func liveEdit() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('one', 'every 1 h', 'noop', missed => 'all')")
            try await database.execute("update errand.schedule set last_tick = now() - interval '3 hours'")
            var loop = loop(database)
            _ = try await loop.refresh()
            #expect(try await count("select count(*) from errand.job", in: database) == 3)
            let edited = try await database.query("select now()::text").scalar(String.self)
            let edit: Statement = "select errand.put_schedule('one', '* * * * * *', 'noop', missed => 'all')"
            #expect(try await database.query(edit).scalar(String.self) == "changed")
            #expect(try await database.query(edit).scalar(String.self) == "unchanged")
            _ = try await loop.refresh()
            // As many as the seconds since the edit, however late this is.
            let before = "select count(*) from errand.schedule_ticks where job_id is not null and tick <= '\(edited)'"
            #expect(try await count(before, in: database) == 3)
            let next: Statement = "select next_tick - now() <= interval '1 second' from errand.schedules"
            #expect(try await database.query(next).scalar(Bool.self))
            try await database.execute("select errand.drop_schedule('one')")
            #expect(try await loop.refresh() == SchedulerLoop.longestDelay)
            #expect(try await count("select count(*) from errand.schedule_ticks", in: database) >= 3)
        }
    }

    @Test("operators' changes last until the program's definition changes")
    func definitions() async throws {
        try await withTestDatabase { database, _ in
            let cron: Statement = "select cron from errand.schedule where name = 'nightly'"
            func start(_ expression: CronExpression) async throws -> String {
                let definition = try ScheduleDefinition(
                    "nightly", .cron(expression, timeZone: "Europe/Paris"), job: Noop())
                var loop = loop(database, [definition])
                _ = try await loop.refresh()
                return try await database.query(cron).scalar(String.self)
            }
            #expect(try await start("0 3 * * *") == "0 3 * * *")
            try await database.execute("select errand.put_schedule('nightly', '0 4 * * *', 'noop')")
            #expect(try await start("0 3 * * *") == "0 4 * * *")
            #expect(try await start("0 5 * * *") == "0 5 * * *")
        }
    }

    @Test("a late insert of a scheduler that knows an older version, or a recorded tick, changes nothing")
    func lateInserts() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop')")
            try await database.execute("update errand.schedule set last_tick = now() - interval '1 day'")
            func records(version: Int, after delay: Int = -3600) async throws -> [Bool] {
                let record = """
                    select is_recorded
                    from errand_internal.record_ticks_v1(
                        '{fast}', array[$1::bigint], array[now() + $2::int * interval '1 second'], '{enqueued}', '{null}',
                        '{null}')
                    """
                return try await database.query(Statement(record, [version, delay])).column(0, as: Bool.self)
            }
            #expect(try await records(version: 2) == [])
            #expect(try await records(version: 1, after: 5) == [], "the clock was put back")
            #expect(try await records(version: 1) == [true])
            // Earlier ticks count as recorded, also after their records are deleted.
            #expect(try await records(version: 1, after: -3700) == [false])
            try await database.execute("delete from errand.tick")
            #expect(try await records(version: 1, after: -3700) == [false])
            try await database.execute("select errand.pause_schedule('fast', 'try')")
            #expect(try await records(version: 2, after: -60) == [false])
            #expect(try await count("select count(*) from errand.job", in: database) == 1)
        }
    }

    @Test("a tick that another scheduler records after a statement began is that one's, not also the statement's")
    func recordedMeanwhile() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop')")
            try await database.execute("update errand.schedule set last_tick = now() - interval '1 day'")
            let record: Statement = """
                with batch as materialized (
                    select pg_advisory_xact_lock(1)
                )
                select settled.is_recorded
                from batch, errand_internal.record_ticks_v1(
                    '{fast}', '{1}', array[date_trunc('hour', now())], '{skipped}', '{null}', '{null}') as settled
                """
            let late = try await database.transaction { transaction in
                #expect(try await transaction.query(record).scalar(Bool.self))
                let late = Task { try await database.query(record).scalar(Bool.self) }
                var isWaiting = false
                for _ in 0..<6000 where !isWaiting {
                    isWaiting =
                        try await count(
                            """
                            select count(*) from pg_stat_activity
                            where datname = current_database() and wait_event_type = 'Lock'
                            """, in: database) == 1
                    try await Task.sleep(for: .milliseconds(10))
                }
                #expect(isWaiting)
                return late
            }
            #expect(try await !late.value)
            #expect(try await count("select count(*) from errand.tick", in: database) == 1)
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
