import Postgres
import Testing

@testable import Errand

@Suite("Cron expression") struct CronExpressionTests {
    @Test(
        "a wrong field is refused by its name, with what was expected and what came",
        arguments: [
            ("", "cron: expected five fields (minute, hour, day of month, month, day of week), got nothing"),
            ("* * * *", "cron: expected five fields (minute, hour, day of month, month, day of week), got 4: * * * *"),
            ("60 * * * *", "minute: expected * or 0 to 59, got 60"),
            ("0 25 * * *", "hour: expected * or 0 to 23, got 25"),
            ("0 0 0 * *", "day of month: expected * or 1 to 31, got 0"),
            ("0 0 L * *", "day of month: expected * or 1 to 31, got L"),
            ("0 0 * 13 *", "month: expected *, 1 to 12 or JAN to DEC, got 13"),
            ("0 0 * JUNO *", "month: expected *, 1 to 12 or JAN to DEC, got JUNO"),
            ("0 0 * * 8", "day of week: expected *, 0 to 7 or SUN to SAT, got 8"),
            ("0 0 * * MON#2", "day of week: expected *, 0 to 7 or SUN to SAT, got MON#2"),
            ("*/0 * * * *", "minute: expected a step of 1 to 59 behind /, got */0"),
            ("*/90 * * * *", "minute: expected a step of 1 to 59 behind /, got */90"),
            ("0 22-2 * * *", "hour: expected a range that goes up, such as 2-22 or 22-23,0-2, got 22-2"),
            ("1,,2 * * * *", "minute: expected * or 0 to 59, got nothing"),
            ("-5 * * * *", "minute: expected * or 0 to 59, got -5"),
            ("0 +5 * * *", "hour: expected * or 0 to 23, got +5"),
            (
                "@reboot",
                "cron: expected @annually, @daily, @hourly, @midnight, @monthly, @weekly, @yearly, got @reboot"
            ),
        ])
    func refusesWithReason(text: String, reason: String) {
        let error = #expect(throws: ScheduleError.self) { try CronExpression(text) }
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
            ("0 0 * * */2", "0 0 * * 0,2,4,6"),
        ])
    func sameTimes(one: String, other: String) throws {
        let (one, other) = (try CronExpression(one), try CronExpression(other))
        #expect(one.minutes == other.minutes)
        #expect(one.hours == other.hours)
        #expect(one.daysOfMonth == other.daysOfMonth)
        #expect(one.months == other.months)
        #expect(one.daysOfWeek == other.daysOfWeek)
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

    /// The days of the month on which it ticks in UTC.
    private func ticks(_ text: String, from date: (Int, Int, Int), days: Int64) throws -> [Int] {
        let number = CalendarDay.number(year: date.0, month: date.1, day: date.2)
        let start = Timestamp(unixMicroseconds: number * 86_400_000_000 - 1)
        let end = Timestamp(unixMicroseconds: (number + days) * 86_400_000_000 - 1)
        return Schedule.cron(try CronExpression(text), .utc).ticks(after: start, through: end)
            .map { CalendarDay($0.unixMicroseconds / 86_400_000_000).day }
    }
}
