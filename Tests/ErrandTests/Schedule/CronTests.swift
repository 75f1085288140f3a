import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Cron expressions") struct CronTests {
    private static let fields =
        "cron: expected five fields (minute, hour, day of month, month, day of week) or six with the second first"
    private static let weekdays =
        "day of week: expected *, 0 to 7 or SUN to SAT, or FRI#2 (the second Friday), FRIL (the last)"
    private static let intervals = "cron: expected every and an interval of 1 s to 100 years, such as every 30 s"

    /// Invalid schedules and their errors.
    static let refusals: [(String, String)] =
        [
            ("", fields + ", got nothing"),
            ("* * * *", fields + ", got 4: * * * *"),
            ("* * * * * * *", fields + ", got 7: * * * * * * *"),
            ("60 * * * *", "minute: expected * or 0 to 59, got 60"),
            ("60 * * * * *", "second: expected * or 0 to 59, got 60"),
            ("0 25 * * *", "hour: expected * or 0 to 23, got 25"),
            ("0 0 0 * *", "day of month: expected *, 1 to 31, or L (the last), L-1 to L-30, got 0"),
            ("0 0 L-31 * *", "day of month: expected *, 1 to 31, or L (the last), L-1 to L-30, got L-31"),
            ("0 0 15W * *", "day of month: expected *, 1 to 31, or L (the last), L-1 to L-30, got 15W"),
            ("0 0 * 13 *", "month: expected *, 1 to 12 or JAN to DEC, got 13"),
            ("0 0 * JUNO *", "month: expected *, 1 to 12 or JAN to DEC, got JUNO"),
            ("0 0 * * 8", weekdays + ", got 8"),
            ("0 0 * * L", weekdays + ", got L"),
            ("0 0 * * MOM#2", weekdays + ", got MOM#2"),
            ("0 0 * * MON#6", "day of week: expected 1 to 5 behind #, got MON#6"),
            ("*/0 * * * *", "minute: expected a step of 1 to 59 behind /, got */0"),
            ("*/90 * * * *", "minute: expected a step of 1 to 59 behind /, got */90"),
            ("0 22-2 * * *", "hour: expected a range that goes up, such as 2-22 or 22-23,0-2, got 22-2"),
            ("1,,2 * * * *", "minute: expected * or 0 to 59, got nothing"),
            ("-5 * * * *", "minute: expected * or 0 to 59, got -5"),
            ("0 +5 * * *", "hour: expected * or 0 to 23, got +5"),
            ("0 0 30 2 *", "cron: expected a date that comes, got 0 0 30 2 *"),
            ("0 0 31 4,6,9,11 *", "cron: expected a date that comes, got 0 0 31 4,6,9,11 *"),
            ("0 0 L-30 FEB *", "cron: expected a date that comes, got 0 0 L-30 FEB *"),
            ("0 0 */31 * SUN#2", "cron: expected a date that comes, got 0 0 */31 * SUN#2"),
            (
                "@reboot",
                "cron: expected @annually, @daily, @hourly, @midnight, @monthly, @weekly, @yearly, got @reboot"
            ),
            (String(repeating: "1,", count: 300) + "1 * * * *", "cron: expected at most 500 characters, got 609"),
            ("every", intervals + ", got every"),
            ("every 0 s", intervals + ", got every 0 s"),
            ("every 999 ms", intervals + ", got every 999 ms"),
            ("every 1 month", intervals + ", got every 1 month"),
            ("every 1 s 2 s", intervals + ", got every 1 s 2 s"),
            ("every 101 weeks 36524 d", intervals + ", got every 101 weeks 36524 d"),
        ]

    @Test("the error of a wrong field has its name, the expected values and its value")
    func refusesWithReason() async throws {
        try await withTestDatabase { database, _ in
            for (text, reason) in Self.refusals {
                let put = Statement("select errand.put_schedule('one', $1, 'noop')", [text])
                let error = await #expect(throws: PostgresError.self) { try await database.execute(put) }
                #expect(error?.sqlState == "ER422", "\(text)")
                #expect(error?.detail == "put_schedule: \(reason)")
            }
            for zone in ["Mars/Olympus", "europe/paris", "", "CEST", "FOO+3", "5", "../passwd", "Europe"] {
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

    private static let pairs = [
        ("@daily", "0 0 * * *"), ("@weekly", "0 0 * * SUN"), ("@Yearly", "0 0 1 1 *"),
        ("*/15 * * * *", "0,15,30,45 * * * *"), ("5/20 * * * *", "5,25,45 * * * *"),
        ("0 0 * JAN-MAR,dec MON-FRI", "0 0 * 1-3,12 1-5"), ("0 0 * january sunday", "0 0 * 1 0"),
        ("0 0 * * 7", "0 0 * * 0"), ("0 0 * * 5-7", "0 0 * * 0,5,6"), ("0 0 * * FRI-SUN", "0 0 * * 0,5,6"),
        ("0 0 * * SUN-TUE", "0 0 * * 0,1,2"), ("0 \t 0  * * *", "0 0 * * *"),
        ("10-30/10 * * * *", "10,20,30 * * * *"),
        ("0 0 * * */2", "0 0 * * 0,2,4,6"), ("0 0 12 * * *", "0 12 * * *"), ("0 0 0 l,L-3 * *", "0 0 L-3,L-0 * *"),
        ("0 0 * * FRI#2,sunday#5", "0 0 * * 5#2,7#5"), ("0 0 * * FRIL,0L", "0 0 * * 5L,sundayL"),

    ]

    @Test("two ways to write the same times are the same")
    func sameTimes() async throws {
        try await withTestDatabase { database, _ in
            for (one, other) in Self.pairs {
                let (one, other) = (try await CronFields(one, in: database), try await CronFields(other, in: database))
                #expect(one == other)
            }
        }
    }

    /// An expression, the first of some days, how many days, and the days of the month with a tick.
    private static let days = [
        // 1 September 2026 is a Tuesday. Of two restricted fields of days one is enough.
        ("0 0 13 * FRI", "2026-09-01", 30, [4, 11, 13, 18, 25]),
        ("0 0 13 * *", "2026-09-01", 30, [13]),
        ("0 0 * * FRI", "2026-09-01", 30, [4, 11, 18, 25]),
        // Beside a field that begins with * both must match.
        ("0 0 */9 * FRI", "2026-09-01", 30, []),
        ("0 0 */10 * FRI", "2026-09-01", 30, [11]),
        // From the month's end, and weekdays within the month. February 2028 has 29 days.
        ("0 0 L * *", "2026-09-01", 30, [30]),
        ("0 0 L-2,1 * *", "2028-02-01", 29, [1, 27]),
        ("0 0 * * FRI#2", "2026-09-01", 30, [11]),
        ("0 0 * * TUE#1,TUE#5", "2026-09-01", 30, [1, 29]),
        ("0 0 * * FRI#5", "2026-09-01", 61, [30]),
        ("0 0 * * WEDL", "2026-09-01", 30, [30]),
        ("0 0 * * THUL,MON#1", "2026-09-01", 30, [7, 24]),
        ("0 0 L * FRIL", "2026-09-01", 30, [25, 30]),
    ]

    @Test("days are those of the month, of the week, or both, as the fields say")
    func daysOfMonth() async throws {
        try await withTestDatabase { database, _ in
            for (text, first, count, days) in Self.days {
                let found = try await database.query(
                    Statement(
                        """
                        select extract(day from local)::int8
                        from errand_internal.coming_ticks(
                            $1, null, 'UTC', $2::text::timestamptz - interval '1 us', 1000,
                            through => $2::text::timestamptz + $3 * interval '1 day' - interval '1 us')
                        """, [text, first + "Z", Double(count)])
                ).column(0, as: Int.self)
                #expect(found == days, "\(text)")
            }
        }
    }

    @Test("six fields begin with the second")
    func seconds() async throws {
        try await withTestDatabase { database, _ in
            let late = """
                select string_agg(to_char(tick at time zone 'UTC', 'DD HH24:MI:SS'), ', ')
                from errand.next_ticks('*/25 59 23 * * *', 'UTC', '2026-09-21 00:00+00', 4)
                """
            let shown = try await database.text(late)
            #expect(shown == "21 23:59:00, 21 23:59:25, 21 23:59:50, 22 23:59:00")
            let each = """
                from errand_internal.coming_ticks(
                    '* * * * * *', null, 'UTC', '2026-09-21 00:00+00', 10000, through => '2026-09-21 02:00+00')
                """
            let count = try await database.count(each)
            #expect(count == 7200)
        }
    }

    private static let units = [
        ("every 30 s", 30), ("every 30s", 30), ("EVERY  5 min", 300), ("every 1 h 30 min", 5400),
        ("every 1h30m", 5400), ("every 24 hours", 86400), ("every 8 days", 691_200), ("every 1 week", 604_800),
        ("every 1000 ms", 1), ("every 60000000 us", 60),
    ]

    @Test("an interval is read in all its units, counts from 1970 in UTC and never skips")
    func intervalTexts() async throws {
        try await withTestDatabase { database, _ in
            for (text, seconds) in Self.units {
                let found = try await database.query(
                    Statement(
                        """
                        select count(*), count(*) filter (where mod(extract(epoch from tick)::int8, $2::int8) = 0),
                            extract(epoch from max(tick) - min(tick))::int8
                        from errand.next_ticks($1, 'Europe/Paris', '2026-10-24 23:17+00', 100)
                        """, [text, seconds]))[0]
                let (count, whole, span) = try found.decode(Int.self, Int.self, Int.self)
                #expect(count == 100 && whole == 100 && span == 99 * seconds, "\(text)")
            }
        }
    }
}
