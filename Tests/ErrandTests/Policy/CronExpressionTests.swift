import Postgres
import Testing

@testable import Errand

@Suite("Cron expression") struct CronExpressionTests {
    private static let fields =
        "cron: expected five fields (minute, hour, day of month, month, day of week) or six with the second first"
    private static let weekdays =
        "day of week: expected *, 0 to 7 or SUN to SAT, or FRI#2 (the second Friday), FRIL (the last)"
    private static let intervals = "cron: expected every and an interval of 1 s to 100 years, such as every 30 s"

    /// Invalid schedules and their errors. The database raises the same ones.
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

    @Test("the error of a wrong field has its name, the expected values and its value", arguments: refusals)
    func refusesWithReason(text: String, reason: String) {
        let error = #expect(throws: ScheduleError.self) { try Schedule(text) }
        #expect(error?.description == reason)
    }

    @Test(
        "two ways to write the same times are the same",
        arguments: [
            ("@daily", "0 0 * * *"), ("@weekly", "0 0 * * SUN"), ("@Yearly", "0 0 1 1 *"),
            ("*/15 * * * *", "0,15,30,45 * * * *"), ("5/20 * * * *", "5,25,45 * * * *"),
            ("0 0 * JAN-MAR,dec MON-FRI", "0 0 * 1-3,12 1-5"), ("0 0 * january sunday", "0 0 * 1 0"),
            ("0 0 * * 7", "0 0 * * 0"), ("0 0 * * 5-7", "0 0 * * 0,5,6"), ("0 0 * * FRI-SUN", "0 0 * * 0,5,6"),
            ("0 0 * * SUN-TUE", "0 0 * * 0,1,2"), ("0 \t 0  * * *", "0 0 * * *"),
            ("10-30/10 * * * *", "10,20,30 * * * *"),
            ("0 0 * * */2", "0 0 * * 0,2,4,6"), ("0 0 12 * * *", "0 12 * * *"), ("0 0 0 l,L-3 * *", "0 0 L-3,L-0 * *"),
            ("0 0 * * FRI#2,sunday#5", "0 0 * * 5#2,7#5"), ("0 0 * * FRIL,0L", "0 0 * * 5L,sundayL"),
        ])
    func sameTimes(one: String, other: String) throws {
        let (one, other) = (try CronExpression(one), try CronExpression(other))
        #expect(one.seconds == other.seconds)
        #expect(one.minutes == other.minutes)
        #expect(one.hours == other.hours)
        #expect(one.months == other.months)
        #expect(one.days == other.days)
    }

    @Test("of two restricted day fields one is enough; beside a field that begins with * both must match")
    func eitherDay() throws {
        // 1 September 2026 is a Tuesday.
        #expect(try ticks("0 0 13 * FRI", from: (2026, 9, 1), days: 30) == [4, 11, 13, 18, 25])
        #expect(try ticks("0 0 13 * *", from: (2026, 9, 1), days: 30) == [13])
        #expect(try ticks("0 0 * * FRI", from: (2026, 9, 1), days: 30) == [4, 11, 18, 25])
        #expect(try ticks("0 0 */9 * FRI", from: (2026, 9, 1), days: 30) == [])
        #expect(try ticks("0 0 */10 * FRI", from: (2026, 9, 1), days: 30) == [11])
    }

    @Test("days are counted from the month's end, and weekdays within the month")
    func daysOfMonth() throws {
        // September 2026 begins on a Tuesday and has 30 days; February 2028 has 29.
        #expect(try ticks("0 0 L * *", from: (2026, 9, 1), days: 30) == [30])
        #expect(try ticks("0 0 L-2,1 * *", from: (2028, 2, 1), days: 29) == [1, 27])
        #expect(try ticks("0 0 * * FRI#2", from: (2026, 9, 1), days: 30) == [11])
        #expect(try ticks("0 0 * * TUE#1,TUE#5", from: (2026, 9, 1), days: 30) == [1, 29])
        #expect(try ticks("0 0 * * FRI#5", from: (2026, 9, 1), days: 61) == [30])
        #expect(try ticks("0 0 * * WEDL", from: (2026, 9, 1), days: 30) == [30])
        #expect(try ticks("0 0 * * THUL,MON#1", from: (2026, 9, 1), days: 30) == [7, 24])
        #expect(try ticks("0 0 L * FRIL", from: (2026, 9, 1), days: 30) == [25, 30])
    }

    @Test("six fields begin with the second")
    func seconds() throws {
        let start = Timestamp(unixMicroseconds: 1_790_000_000_000_000 / 86_400_000_000 * 86_400_000_000)
        let schedule = Schedule.cron("*/25 59 23 * * *", .utc)
        let found = schedule.ticks(after: start, through: start + .seconds(2 * 86400)).map {
            ($0 - start).components.seconds
        }
        let first: Int64 = 86400 - 60
        #expect(found == [first, first + 25, first + 50, first + 86400, first + 86425, first + 86450])
        let each = Schedule.cron("* * * * * *", .utc)
        #expect(each.ticks(after: start, through: start + .seconds(7200)).count == 7200)
    }

    @Test("the days of the calendar follow each other through 800 years")
    func calendar() {
        var number = CalendarDay.number(year: 1600, month: 1, day: 1)
        for year in 1600..<2400 {
            for month in 1...12 {
                for day in 1...CalendarDay.days(inMonth: month, of: year) {
                    let found = CalendarDay(number)
                    guard (found.year, found.month, found.day) == (year, month, day),
                        CalendarDay.number(year: year, month: month, day: day) == number
                    else {
                        Issue.record("\(year)-\(month)-\(day) came as \(found)")
                        return
                    }
                    number += 1
                }
            }
        }
        #expect(CalendarDay(0).weekday == 4)
        #expect(CalendarDay(-1).weekday == 3)
    }

    /// The days of the month with a tick, in UTC.
    private func ticks(_ text: String, from date: (Int, Int, Int), days: Int64) throws -> [Int] {
        let number = CalendarDay.number(year: date.0, month: date.1, day: date.2)
        let start = Timestamp(unixMicroseconds: number * 86_400_000_000 - 1)
        let end = Timestamp(unixMicroseconds: (number + days) * 86_400_000_000 - 1)
        return Schedule.cron(try CronExpression(text), .utc).ticks(after: start, through: end)
            .map { CalendarDay($0.unixMicroseconds / 86_400_000_000).day }
    }
}
