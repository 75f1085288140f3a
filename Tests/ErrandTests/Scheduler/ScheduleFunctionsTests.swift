import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

@Suite("Schedules in SQL") struct ScheduleFunctionsTests {
    @Test("the database rejects the same schedules as the program, with the same messages")
    func sameRefusals() async throws {
        try await withTestDatabase { database, _ in
            for (text, reason) in CronExpressionTests.refusals {
                let put = Statement("select errand.put_schedule('one', $1, 'noop')", [text])
                let error = await #expect(throws: PostgresError.self) { try await database.execute(put) }
                #expect(error?.sqlState == "ER422", "\(text)")
                #expect(error?.detail == "put_schedule: \(reason)")
            }
            for zone in ["Mars/Olympus", "europe/paris", "", "CEST", "FOO+3", "5", "../passwd"] {
                let put = Statement("select errand.put_schedule('one', '@daily', 'noop', time_zone => $1)", [zone])
                let error = await #expect(throws: PostgresError.self) { try await database.execute(put) }
                #expect(error?.detail.hasPrefix("put_schedule: time zone: expected an IANA name") == true, "\(zone)")
            }
            #expect(try await database.count("from errand.schedule") == 0)
            for zone in ["Europe/Paris", "UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "EST5EDT"] {
                try await database.execute(
                    Statement("select errand.put_schedule('one', '@daily', 'noop', time_zone => $1)", [zone]))
            }
        }
    }

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

    /// An expression, its time zone, and its start.
    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        let zone: String
        let after: String
        var testDescription: String { "\(text) in \(zone) after \(after)" }
    }

    static let cases: [Case] = {
        let changes = [
            ("Europe/Paris", "2026-10-24T20:00:00Z"), ("Europe/Paris", "2026-10-25T00:45:00Z"),
            ("Europe/Paris", "2027-03-27T20:00:00Z"), ("America/New_York", "2026-11-01T03:00:00Z"),
            ("America/New_York", "2027-03-14T05:30:00Z"), ("America/Santiago", "2026-09-06T01:00:00Z"),
            ("America/Santiago", "2026-04-05T01:00:00Z"), ("Africa/Cairo", "2026-04-23T20:00:00Z"),
            ("Asia/Beirut", "2027-03-27T20:00:00Z"), ("Australia/Lord_Howe", "2027-04-03T12:00:00Z"),
            ("Australia/Lord_Howe", "2027-10-02T12:00:00Z"), ("Pacific/Apia", "2011-12-28T20:00:00Z"),
            ("Asia/Kathmandu", "2026-06-30T17:00:00Z"), ("America/St_Johns", "2007-11-04T01:00:00Z"),
            ("UTC", "2028-02-27T00:00:00Z"),
        ]
        let texts = [
            "0 0 * * *", "30 2 * * *", "*/20 0-3 * * *", "15,45 * * * *", "10 */15 1,23 * * *", "0 12 L,29 * SUN#1",
            "30 1 * * SUNL", "*/30 30 * 29 2,12 *", "every 7 min 30 s",
        ]
        return changes.flatMap { zone, after in texts.map { Case(text: $0, zone: zone, after: after) } }
    }()

    @Test("previews of database and program are equal in ticks and notes, also at clock changes")
    func samePreviews() async throws {
        try await withTestDatabase { database, _ in
            for one in Self.cases {
                let start = Timestamp(try Date(one.after, strategy: .iso8601))
                let zone = try Zone(named: one.zone)
                let expected = try Schedule(one.text, timeZone: one.zone).preview(after: start, count: 12, in: zone)
                let rows = try await database.query(
                    Statement(
                        """
                        select to_char(tick at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                            to_char(local, 'YYYY-MM-DD"T"HH24:MI:SS'), note
                        from errand.next_ticks($1, $2, $3, 12)
                        """, [one.text, one.zone, start]))
                let came = try rows.map { try $0.decode(String.self, String.self, String?.self) }
                #expect(came.map(\.0) == expected.map(\.utc), "\(one.testDescription)")
                #expect(came.map(\.1) == expected.map { String($0.local.prefix(19)) }, "\(one.testDescription)")
                #expect(came.map(\.2) == expected.map(\.note), "\(one.testDescription)")
            }
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
