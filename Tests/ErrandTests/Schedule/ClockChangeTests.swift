import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Ticks where clocks change") struct ClockChangeTests {
    /// A day with a clock change, and a schedule's ticks on it.
    struct Day: Sendable, CustomTestStringConvertible {
        let zone: String
        /// The local date.
        let date: String
        let cron: String
        /// In UTC.
        let ticks: [String]

        var testDescription: String { "\(cron) in \(zone) on \(date)" }
    }

    static let days: [Day] = [
        // Midnight does not exist: 0:00 becomes 1:00.
        Day(zone: "America/Santiago", date: "2026-09-06", cron: "0 0 * * *", ticks: ["2026-09-06T04:00:00Z"]),
        Day(zone: "America/Santiago", date: "2026-09-06", cron: "30 0 * * *", ticks: ["2026-09-06T04:00:00Z"]),
        Day(zone: "Africa/Cairo", date: "2026-04-24", cron: "0 0 * * *", ticks: ["2026-04-23T22:00:00Z"]),
        Day(zone: "Asia/Beirut", date: "2027-03-28", cron: "0 0 * * *", ticks: ["2027-03-27T22:00:00Z"]),
        // Midnight comes twice: 24:00 becomes 23:00 of the day before.
        Day(zone: "America/Santiago", date: "2026-04-05", cron: "0 0 * * *", ticks: ["2026-04-05T04:00:00Z"]),
        Day(zone: "America/Santiago", date: "2026-04-04", cron: "30 23 * * *", ticks: ["2026-04-05T02:30:00Z"]),
        // 2:00 to 3:00 twice, and 2:00 to 3:00 not at all.
        Day(zone: "Europe/Paris", date: "2026-10-25", cron: "0 0 * * *", ticks: ["2026-10-24T22:00:00Z"]),
        Day(zone: "Europe/Paris", date: "2026-10-25", cron: "30 2 * * *", ticks: ["2026-10-25T00:30:00Z"]),
        Day(zone: "Europe/Paris", date: "2026-10-25", cron: "0 3 * * *", ticks: ["2026-10-25T02:00:00Z"]),
        Day(
            zone: "Europe/Paris", date: "2026-10-25", cron: "30 1-3 * * *",
            ticks: ["2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"]),
        Day(
            zone: "Europe/Paris", date: "2026-10-25", cron: "0 */6 * * *",
            ticks: ["2026-10-24T22:00:00Z", "2026-10-25T05:00:00Z", "2026-10-25T11:00:00Z", "2026-10-25T17:00:00Z"]),
        Day(zone: "Europe/Paris", date: "2027-03-28", cron: "0 0 * * *", ticks: ["2027-03-27T23:00:00Z"]),
        Day(zone: "Europe/Paris", date: "2027-03-28", cron: "30 2 * * *", ticks: ["2027-03-28T01:00:00Z"]),
        Day(zone: "Europe/Paris", date: "2027-03-28", cron: "*/20 2 * * *", ticks: ["2027-03-28T01:00:00Z"]),
        Day(
            zone: "Europe/Paris", date: "2027-03-28", cron: "30 1-3 * * *",
            ticks: ["2027-03-28T00:30:00Z", "2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"]),
        Day(zone: "America/New_York", date: "2026-11-01", cron: "0 0 * * *", ticks: ["2026-11-01T04:00:00Z"]),
        Day(zone: "America/New_York", date: "2026-11-01", cron: "30 1 * * *", ticks: ["2026-11-01T05:30:00Z"]),
        Day(zone: "America/New_York", date: "2027-03-14", cron: "0 0 * * *", ticks: ["2027-03-14T05:00:00Z"]),
        Day(zone: "America/New_York", date: "2027-03-14", cron: "15 2 * * *", ticks: ["2027-03-14T07:00:00Z"]),
        // Half an hour.
        Day(zone: "Australia/Lord_Howe", date: "2027-04-04", cron: "0 0 * * *", ticks: ["2027-04-03T13:00:00Z"]),
        Day(zone: "Australia/Lord_Howe", date: "2027-04-04", cron: "45 1 * * *", ticks: ["2027-04-03T14:45:00Z"]),
        Day(zone: "Australia/Lord_Howe", date: "2027-10-03", cron: "0 0 * * *", ticks: ["2027-10-02T13:30:00Z"]),
        Day(zone: "Australia/Lord_Howe", date: "2027-10-03", cron: "15 2 * * *", ticks: ["2027-10-02T15:30:00Z"]),
        // The skipped day, and the days before and after it.
        Day(zone: "Pacific/Apia", date: "2011-12-29", cron: "0 0 * * *", ticks: ["2011-12-29T10:00:00Z"]),
        Day(zone: "Pacific/Apia", date: "2011-12-30", cron: "0 9 30 12 *", ticks: []),
        Day(zone: "Pacific/Apia", date: "2011-12-31", cron: "0 9 * * *", ticks: ["2011-12-30T19:00:00Z"]),
        Day(zone: "Asia/Kathmandu", date: "2026-07-01", cron: "0 0 * * *", ticks: ["2026-06-30T18:15:00Z"]),
        // A wildcard hour follows real time: 25 and 23 runs.
        Day(
            zone: "Europe/Paris", date: "2026-10-25", cron: "0 * * * *",
            ticks: (0..<25).map { hour in
                hour < 2 ? "2026-10-24T2\(2 + hour):00:00Z" : "2026-10-25T\(hour < 12 ? "0" : "")\(hour - 2):00:00Z"
            }),
    ]

    @Test("ticks are right on the days on which clocks change")
    func clockChange() async throws {
        try await withTestDatabase { database, _ in
            for day in Self.days {
                // Around the day by the local clock, two days of real time are enough.
                let found = try await database.query(
                    Statement(
                        """
                        select to_char(tick at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                        from errand_internal.coming_ticks(
                            $1, null, $2, $3::text::timestamptz - interval '2 days', 1000,
                            through => $3::text::timestamptz + interval '2 days')
                        where local::date = $3::text::timestamptz::date
                        order by tick
                        """, [day.cron, day.zone, day.date + "Z"])
                ).column(0, as: String.self)
                #expect(found == day.ticks, "\(day.testDescription)")
            }
        }
    }

    static let zones = [
        "UTC", "Europe/Paris", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Pacific/Apia",
        "Asia/Kathmandu", "Asia/Beirut",
    ]

    /// The second one has the day that Apia skipped.
    private static let years = Hardness.isFull ? 2011..<2021 : 2011..<2013

    @Test("years have the ticks of a slow walk through real time: none missing, none double", arguments: zones)
    func years(name: String) async throws {
        let texts = [
            "0 0 * * *", "30 2 * * *", "45 1,23 * * SUN", "*/30 0-3 29-31 * *", "15 * 1 * *", "0 2 L,L-6 * SUNL",
            "0 30 0,2 * * SUN#1,SUN#5",
        ]
        try await compare(
            texts, in: name, from: Self.day(Self.years.lowerBound, 1, 1), to: Self.day(Self.years.upperBound, 1, 1),
            step: 900, atLeast: 50)
    }

    @Test("months have the ticks of a walk through each of their minutes: none missing, none double", arguments: zones)
    func months(name: String) async throws {
        let texts = ["*/7 * * * *", "59 23 * * *", "1-59/2 0-3 * 3,4,9-12 *"]
        if Hardness.isFull {
            return try await compare(
                texts, in: name, from: Self.day(2011, 1, 1), to: Self.day(2012, 1, 1), step: 60, atLeast: 50)
        }
        // The months in which some clocks change, and the day that Apia skipped.
        for (month, day, days) in [(3, 10, 26), (10, 1, 40), (12, 28, 6)] as [(Int, Int, Int64)] {
            let first = Self.day(2011, month, day)
            try await compare(texts, in: name, from: first, to: first + days * 86400, step: 60, atLeast: 4)
        }
    }

    @Test(
        "where clocks change, days are as a walk through each of their seconds says",
        arguments: [
            ("Europe/Paris", 2026, 10, 25), ("Europe/Paris", 2027, 3, 28), ("America/Santiago", 2026, 9, 6),
            ("America/Santiago", 2026, 4, 5), ("Australia/Lord_Howe", 2027, 4, 4), ("Pacific/Apia", 2011, 12, 30),
        ])
    func eachSecond(name: String, year: Int, month: Int, day: Int) async throws {
        let first = Self.day(year, month, day)
        let texts = ["*/7 59 0-3,23 * * *", "59,0 */10 * * * *", "30 30 1-2 * * *"]
        try await compare(texts, in: name, from: first - 21600, to: first + 108_000, step: 1, atLeast: 2)
    }

    /// Midnight in UTC, in seconds since 1970.
    private static func day(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(year: year, month: month, day: day)
        return Int64(calendar.date(from: parts)!.timeIntervalSince1970)
    }

    private func compare(
        _ texts: [String], in name: String, from start: Int64, to end: Int64, step: Int64, atLeast count: Int
    ) async throws {
        let slow = SlowSchedule(zone: try #require(TimeZone(identifier: name)), from: start, to: end, step: step)
        try await withTestDatabase { database, _ in
            for text in texts {
                let expected = slow.ticks(try await CronFields(text, in: database))
                let came = try await database.query(
                    Statement(
                        """
                        select extract(epoch from tick)::int8
                        from errand_internal.coming_ticks(
                            $1, null, $2, to_timestamp($3::int8) - interval '1 us', 10000000,
                            through => to_timestamp($4::int8) - interval '1 us')
                        """, [text, name, start, end])
                ).column(0, as: Int64.self)
                #expect(expected.count >= count)
                #expect(Set(came).count == came.count, "\(text): a tick came twice")
                let missing = Set(expected).subtracting(came)
                let surplus = Set(came).subtracting(expected)
                #expect(
                    missing.isEmpty && surplus.isEmpty,
                    "\(text): missing \(missing.min() ?? 0), surplus \(surplus.min() ?? 0)")
            }
        }
    }

    /// A rare date, and the year of its next tick after the beginning of 2027.
    private static let rare = [
        ("0 0 29 2 *", 2028), ("0 * 29 2 *", 2028), ("0 0 29 2 */7", 2032), ("0 0 31 12 *", 2027),
        ("0 0 */28 2 SUN#5", 2032), ("59 59 23 L DEC *", 2027),
    ]

    @Test("rare dates are found; those that never come end the search")
    func rareDates() async throws {
        try await withTestDatabase { database, _ in
            for (text, year) in Self.rare {
                let found = try await database.query(
                    Statement(
                        """
                        select extract(year from local)::int8
                        from errand.next_ticks($1, 'Europe/Paris', '2027-01-01 00:00+00', 1)
                        """, [text])
                ).scalar(Int.self)
                #expect(found == year, "\(text)")
            }
            for text in ["0 0 30 2 *", "0 * 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30 2 */7", "* * * */31 * SUN#2"] {
                #expect(try await database.query(Statement("select errand.next_ticks($1)", [text])).isEmpty, "\(text)")
            }
        }
    }

    /// An expression, its zone, a start, and the times of the next ticks in UTC and on the clock, with their notes.
    private static let noted = [
        (
            "30 2 * * *", "Europe/Paris", "2026-10-24 00:30Z",
            [
                "00:30:00.000 02:30:00.000 clocks go back: 02:30 comes twice, this is the first",
                "01:30:00.000 02:30:00.000",
            ]
        ),
        (
            "30 2 * * *", "Europe/Paris", "2027-03-28 00:00Z",
            ["01:00:00.000 03:00:00.000 clocks go forward from 02:00 to 03:00: what lies between runs now"]
        ),
        (
            "30 * * * *", "America/New_York", "2026-11-01 05:00Z",
            [
                "05:30:00.000 01:30:00.000 clocks go back: 01:30 comes twice, this is the first",
                "06:30:00.000 01:30:00.000 clocks went back: 01:30 comes twice, this is the second",
            ]
        ),
        ("every 1500 ms", "Asia/Kathmandu", "1970-01-01 00:00Z", ["00:00:01.500 05:30:01.500"]),
    ]

    @Test("ticks near a change of clocks have a note")
    func notes() async throws {
        try await withTestDatabase { database, _ in
            for (text, zone, after, expected) in Self.noted {
                let found = try await database.query(
                    Statement(
                        """
                        select concat_ws(
                            ' ', to_char(tick at time zone 'UTC', 'HH24:MI:SS.MS'), to_char(local, 'HH24:MI:SS.MS'), note)
                        from errand.next_ticks($1, $2, $3::text::timestamptz, $4::int8::int)
                        """, [text, zone, after, expected.count])
                ).column(0, as: String.self)
                #expect(found == expected, "\(text)")
            }
        }
    }

    @Test("the newest ticks of a long time are found without going through all of it")
    func newestTicks() async throws {
        try await withTestDatabase { database, _ in
            let (start, end) = ("2020-09-13 12:00Z", "2026-09-21 14:00Z")
            let three = try await newest(3, after: start, through: end, in: database)
            #expect(three == ["2026-09-19", "2026-09-20", "2026-09-21"])
            let all = try await newest(10000, after: start, through: end, in: database)
            #expect(all.count == 2199)
            let two = try await newest(5, after: "2026-09-19 12:00Z", through: end, in: database)
            #expect(two == ["2026-09-20", "2026-09-21"])
            for every in ["null", "interval '24 hours'"] {
                let days = try await newest(2, after: start, through: end, every: every, in: database)
                #expect(days == ["2026-09-20", "2026-09-21"])
                let none = try await newest(5, after: end, through: start, every: every, in: database)
                #expect(none == [])
            }
        }
    }

    private func newest(
        _ count: Int, after: String, through: String, every: String = "null", in database: Database
    ) async throws -> [String] {
        try await database.query(
            Statement(
                """
                select to_char(tick at time zone 'UTC', 'YYYY-MM-DD')
                from errand_internal.newest_ticks(
                    '0 12 * * *', \(every), 'UTC', $1::text::timestamptz, $2::text::timestamptz, $3::int8::int)
                """, [after, through, count])
        ).column(0, as: String.self)
    }
}
