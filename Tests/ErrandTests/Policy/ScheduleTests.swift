import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

@Suite("Schedule") struct ScheduleTests {
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

    @Test("ticks are right on the days on which clocks change", arguments: days)
    func clockChange(day: Day) throws {
        let zone = try Zone(named: day.zone)
        let schedule = Schedule.cron(try CronExpression(day.cron), zone)
        let parts = day.date.split(separator: "-").compactMap { Int($0) }
        let number = CalendarDay.number(year: parts[0], month: parts[1], day: parts[2])
        // The day's moments by the local clock: around them two days of real time are enough.
        let around = schedule.ticks(
            after: Timestamp(unixMicroseconds: (number - 2) * 86_400_000_000),
            through: Timestamp(unixMicroseconds: (number + 2) * 86_400_000_000))
        let onDay = around.filter {
            zone.localTime(at: $0.unixMicroseconds / 1_000_000).flooredQuotient(86400) == number
        }
        #expect(onDay.map(Self.text) == day.ticks)
    }

    static let zones = [
        "UTC", "Europe/Paris", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Pacific/Apia",
        "Asia/Kathmandu", "Asia/Beirut",
    ]

    /// The second one has the day that Apia skipped.
    private static let years = Hardness.isFull ? 2011..<2021 : 2011..<2013

    @Test("years have the ticks of a slow walk through real time: none missing, none double", arguments: zones)
    func years(name: String) throws {
        let texts = [
            "0 0 * * *", "30 2 * * *", "45 1,23 * * SUN", "*/30 0-3 29-31 * *", "15 * 1 * *", "0 2 L,L-6 * SUNL",
            "0 30 0,2 * * SUN#1,SUN#5",
        ]
        try compare(texts, in: name, years: Self.years, step: 900)
    }

    @Test("months have the ticks of a walk through each of their minutes: none missing, none double", arguments: zones)
    func months(name: String) throws {
        let texts = ["*/7 * * * *", "59 23 * * *", "1-59/2 0-3 * 3,4,9-12 *"]
        if Hardness.isFull { return try compare(texts, in: name, years: 2011..<2012, step: 60) }
        // The months in which some clocks change, and the day that Apia skipped.
        for (month, day, days) in [(3, 10, 26), (10, 1, 40), (12, 28, 6)] as [(Int, Int, Int64)] {
            let first = CalendarDay.number(year: 2011, month: month, day: day)
            try compare(
                texts, in: name, from: first * 86400, to: (first + days) * 86400, step: 60, atLeast: 4)
        }
    }

    @Test(
        "where clocks change, days are as a walk through each of their seconds says",
        arguments: [
            ("Europe/Paris", 2026, 10, 25), ("Europe/Paris", 2027, 3, 28), ("America/Santiago", 2026, 9, 6),
            ("America/Santiago", 2026, 4, 5), ("Australia/Lord_Howe", 2027, 4, 4), ("Pacific/Apia", 2011, 12, 30),
        ])
    func eachSecond(name: String, year: Int, month: Int, day: Int) throws {
        let number = CalendarDay.number(year: year, month: month, day: day)
        let texts = ["*/7 59 0-3,23 * * *", "59,0 */10 * * * *", "30 30 1-2 * * *"]
        try compare(texts, in: name, from: number * 86400 - 21600, to: number * 86400 + 108_000, step: 1, atLeast: 2)
    }

    private func compare(_ texts: [String], in name: String, years: Range<Int>, step: Int64) throws {
        let start = CalendarDay.number(year: years.lowerBound, month: 1, day: 1) * 86400
        let end = CalendarDay.number(year: years.upperBound, month: 1, day: 1) * 86400
        try compare(texts, in: name, from: start, to: end, step: step, atLeast: 50)
    }

    private func compare(
        _ texts: [String], in name: String, from start: Int64, to end: Int64, step: Int64, atLeast count: Int
    ) throws {
        let zone = try Zone(named: name)
        let slow = SlowSchedule(zone: try #require(TimeZone(identifier: name)), from: start, to: end, step: step)
        for text in texts {
            let expression = try CronExpression(text)
            let expected = slow.ticks(expression)
            let came = Schedule.cron(expression, zone).ticks(
                after: Timestamp(unixMicroseconds: start * 1_000_000 - 1),
                through: Timestamp(unixMicroseconds: end * 1_000_000 - 1)
            ).map { $0.unixMicroseconds / 1_000_000 }
            #expect(expected.count >= count)
            #expect(Set(came).count == came.count, "\(text): a tick came twice")
            let missing = Set(expected).subtracting(came)
            let surplus = Set(came).subtracting(expected)
            #expect(
                missing.isEmpty && surplus.isEmpty,
                "\(text): missing \(missing.min() ?? 0), surplus \(surplus.min() ?? 0)")
        }
    }

    @Test("the search for a rare date, and that for one that never comes, end within 5 ms")
    func impossibleDates() throws {
        let now = Timestamp(unixMicroseconds: 1_800_000_000_000_000)
        let paris = try Zone(named: "Europe/Paris")
        for (text, year) in [
            ("0 0 29 2 *", 2028), ("0 * 29 2 *", 2028), ("0 0 29 2 */7", 2032), ("0 0 31 12 *", 2027),
            ("0 0 */28 2 SUN#5", 2032), ("59 59 23 L DEC *", 2027),
        ] as [(CronExpression, Int)] {
            let clock = ContinuousClock()
            var next: Timestamp?
            let took = (0..<10).map { _ in clock.measure { next = Schedule.cron(text, paris).next(after: now) } }.min()!
            #expect(next.map { CalendarDay(zoneDay($0, in: paris)).year } == year, "\(text)")
            #expect(took < .milliseconds(5), "\(text)")
        }
        for text in ["0 0 30 2 *", "0 * 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30 2 */7", "* * * */31 * SUN#2"] {
            let took = (0..<10).map { _ in
                ContinuousClock().measure { #expect(throws: ScheduleError.self) { try CronExpression(text) } }
            }.min()!
            #expect(took < .milliseconds(5), "\(text)")
        }
        #expect(Schedule.cron("0 0 1 1 *", .utc).next(after: Timestamp(microseconds: .max / 2)) == nil)
        #expect(Schedule.cron("0 0 1 1 *", .utc).next(after: Timestamp(microseconds: -946_684_800_000_000)) != nil)
    }

    @Test(
        "an interval is read in all its units",
        arguments: [
            ("every 30 s", 30), ("every 30s", 30), ("EVERY  5 min", 300), ("every 1 h 30 min", 5400),
            ("every 1h30m", 5400), ("every 24 hours", 86400), ("every 8 days", 691_200), ("every 1 week", 604_800),
            ("every 1000 ms", 1), ("every 60000000 us", 60),
        ])
    func intervalTexts(text: String, seconds: Int) throws {
        #expect(try Schedule(text) == .every(.seconds(seconds)))
    }

    @Test("a preview shows both clocks, and explains ticks at clock changes")
    func preview() throws {
        func preview(_ text: String, _ zone: String, after: String, _ count: Int) throws -> [String] {
            let start = Timestamp(try Date(after, strategy: .iso8601))
            return try Schedule(text, timeZone: zone).preview(after: start, count: count, in: Zone(named: zone))
                .map { "\($0.utc) \($0.local) \($0.note ?? "-")" }
        }
        #expect(
            try preview("30 2 * * *", "Europe/Paris", after: "2026-10-24T00:30:00Z", 2) == [
                "2026-10-25T00:30:00Z 2026-10-25T02:30:00+02:00 clocks go back: 02:30 comes twice, this is the first",
                "2026-10-26T01:30:00Z 2026-10-26T02:30:00+01:00 -",
            ])
        #expect(
            try preview("30 2 * * *", "Europe/Paris", after: "2027-03-28T00:00:00Z", 1) == [
                "2027-03-28T01:00:00Z 2027-03-28T03:00:00+02:00 "
                    + "clocks go forward from 02:00 to 03:00: what lies between runs now"
            ])
        #expect(
            try preview("30 * * * *", "America/New_York", after: "2026-11-01T05:00:00Z", 2) == [
                "2026-11-01T05:30:00Z 2026-11-01T01:30:00-04:00 clocks go back: 01:30 comes twice, this is the first",
                "2026-11-01T06:30:00Z 2026-11-01T01:30:00-05:00 clocks went back: 01:30 comes twice, this is the second",
            ])
        #expect(
            try preview("every 1500 ms", "Asia/Kathmandu", after: "1970-01-01T00:00:00Z", 1) == [
                "1970-01-01T00:00:01.500000Z 1970-01-01T05:30:01.500000+05:30 -"
            ])
        #expect(try preview("0 0 1 1 *", "UTC", after: "2198-06-01T00:00:00Z", 5).count == 1)
    }

    @Test("an interval counts from 1970 in UTC and never skips")
    func intervals() {
        let schedule = Schedule.every(.seconds(7 * 60))
        let start = Timestamp(unixMicroseconds: 1_790_000_000_000_000)
        let ticks = schedule.ticks(after: start, through: Timestamp(microseconds: start.microseconds + 86_400_000_000))
        #expect(ticks.count == 205 || ticks.count == 206)
        #expect(ticks.allSatisfy { $0.unixMicroseconds % 420_000_000 == 0 && $0 > start })
        #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $1.microseconds - $0.microseconds == 420_000_000 })
    }

    @Test("the last ticks of a long time are found without going through all of it")
    func lastTicks() throws {
        let schedule = Schedule.cron("0 12 * * *", .utc)
        let start = Timestamp(unixMicroseconds: 1_600_000_000_000_000)
        let end = Timestamp(unixMicroseconds: 1_790_000_000_000_000)
        let all = schedule.ticks(after: start, through: end)
        #expect(schedule.lastTicks(3, after: start, through: end) == (Array(all.suffix(3)), false))
        #expect(schedule.lastTicks(0, after: start, through: end) == ([], false))
        #expect(schedule.lastTicks(all.count, after: start, through: end) == (all, true))
        #expect(schedule.lastTicks(5, after: all[all.count - 3], through: end) == (Array(all.suffix(2)), true))
        #expect(schedule.lastTicks(5, after: end, through: start) == ([], true))
    }

    private func zoneDay(_ time: Timestamp, in zone: Zone) -> Int64 {
        zone.localTime(at: time.unixMicroseconds / 1_000_000).flooredQuotient(86400)
    }

    private static func text(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.unixMicroseconds) / 1e6).formatted(.iso8601)
    }
}
