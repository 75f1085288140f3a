import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

@Suite("Schedules in SQL") struct ScheduleFunctionsTests {
    @Test("a transaction with an older snapshot creates a schedule again that another session has dropped since")
    func dropped() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('one', 'every 1 s', 'noop')")
            let older = try await database.makeConnection()
            try await older.execute("begin isolation level repeatable read")
            try await older.execute("select count(*) from errand.schedule")
            try await database.execute("select errand.drop_schedule('one')")
            try await older.execute("select errand.put_schedule('one', 'every 2 s', 'noop')")
            try await older.execute("commit")
            await older.close()
            let actions = "from errand.action where action = 'put_schedule' and target ->> 'cron' = 'every 2 s'"
            #expect(try await database.count(actions) == 1)
        }
    }

    @Test("a local time that clocks skip is the moment of the change, also with fractions of a second")
    func skippedTimes() async throws {
        try await withTestDatabase { database, _ in
            // From 02:00 to 02:59:59.4, the first second included.
            let moments = try await database.query(
                """
                select string_agg(distinct (moment at time zone 'UTC')::text, ', ')
                from generate_series(0, 5142) as n
                cross join errand_internal.clock_first_shows(
                    timestamp '2026-03-29 02:00' + n * interval '0.7 s', 'Europe/Paris') as moment
                """
            ).scalar(String.self)
            #expect(moments == "2026-03-29 01:00:00")
        }
    }

    @Test("a stored schedule is previewed without any scheduler, also a paused one; an unknown one is ER404")
    func preview() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_schedule('nightly', '30 2 * * *', 'noop', time_zone => 'Europe/Paris')")
            try await database.execute("select errand.put_schedule('often', 'every 90 s', 'noop')")
            try await database.execute("select errand.pause_schedule('nightly', 'a test')")
            let ticks = """
                select string_agg(to_char(tick at time zone 'UTC', 'MM-DD HH24:MI'), ', ' order by tick)
                from errand.preview_schedule
                """
            let nightly = Statement("\(ticks)('nightly', 2, '2026-10-25 00:00+00')")
            #expect(try await database.query(nightly).scalar(String.self) == "10-25 00:30, 10-26 01:30")
            let often = Statement("\(ticks)('often', 3, '2026-10-25 00:00+00')")
            #expect(try await database.query(often).scalar(String.self) == "10-25 00:01, 10-25 00:03, 10-25 00:04")
            let shown = try await database.query("select cron from errand.schedules where name = 'often'")
            #expect(try shown.scalar(String.self) == "every 1 min 30 s")
            // As a program defines it.
            try await database.execute("select errand.put_schedule('seldom', 'every 5400000000 us', 'noop')")
            let audited = "select target ->> 'cron' from errand.audit where target ->> 'schedule' = 'seldom'"
            #expect(try await database.query(Statement(audited)).scalar(String.self) == "every 1 h 30 min")
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.preview_schedule('nothing')")
            }
            #expect(error?.sqlState == "ER404")
        }
    }

    @Test(
        "a job that is asked for by hand is in the queue at once and on record with its reason; the ticks stay as they are"
    )
    func runNow() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                #"select errand.put_schedule('nightly', '@daily', 'noop', '{"sleep_ms": 1}', queue => 'mail')"#)
            try await database.execute("select errand.pause_schedule('nightly', 'a test')")
            let before = try await database.query("select last_tick from errand.schedule").scalar(Timestamp.self)
            let run: Statement = "select errand.run_schedule('nightly', 'the disk was full')"
            let first = try await database.query(run).scalar(Int64.self)
            let second = try await database.query(run).scalar(Int64.self)
            #expect(first != second)
            #expect(
                try await database.count(
                    #"from errand.job where state = 'available' and queue = 'mail' and payload = '{"sleep_ms": 1}'"#)
                    == 2)
            #expect(
                try await database.count(
                    """
                    from errand.schedule_ticks
                    where outcome = 'by hand' and reason = 'the disk was full' and lateness is null
                        and job_id in (\(first), \(second))
                    """) == 2)
            #expect(try await database.query("select last_tick from errand.schedule").scalar(Timestamp.self) == before)
            for (call, state) in [
                ("'nothing', 'why'", "ER404"), ("'nightly', ' '", "ER422"), ("'nightly', null", "ER422"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select errand.run_schedule(\(call))"))
                }
                #expect(error?.sqlState == state)
            }
        }
    }
}
