/// When a schedule ticks, as five fields of local time: minute, hour, day of the month, month, day of the week.
///
/// ```text
/// 0 9 * * MON-FRI      at 9:00 from Monday to Friday
/// */10 * * * *         every ten minutes
/// 30 2 1,15 * *        at 2:30 on the 1st and the 15th
/// @daily               at 0:00; likewise @hourly @weekly @monthly @yearly @midnight @annually
/// ```
/// A field is `*`, a value, a range `1-5`, any of these with a step (`*/2`, `1-31/7`, `5/10` from 5 on), or a list of
/// those. Months and days have names as well, `JAN` or `january`; Sunday is 0 and 7. Where day of the month and day of
/// the week are both restricted (neither begins with `*`), one of them is enough, as in cron since 1979.
public struct CronExpression: Sendable, Hashable, CustomStringConvertible {
    /// As it was written.
    public let description: String
    /// One bit a value that matches.
    let minutes: UInt64
    let hours: UInt64
    let daysOfMonth: UInt64
    let months: UInt64
    let daysOfWeek: UInt64
    /// One of the two day fields is enough.
    let isEitherDayEnough: Bool

    /// Reads an expression; the cost is microseconds.
    ///
    /// - Throws: ``ScheduleError``, which names the field, what was expected and what came.
    public init(_ text: String) throws(ScheduleError) {
        let words = text.split(whereSeparator: \.isWhitespace)
        let fields: [Substring]
        if let first = words.first, first.hasPrefix("@"), words.count == 1 {
            guard let meaning = Self.abbreviations[first.lowercased()] else {
                throw ScheduleError(
                    "cron", expected: Self.abbreviations.keys.sorted().joined(separator: ", "), came: String(first))
            }
            fields = meaning.split(separator: " ")
        } else {
            fields = words
        }
        guard fields.count == 5 else {
            throw ScheduleError(
                "cron", expected: "five fields (minute, hour, day of month, month, day of week)",
                came: words.isEmpty ? "nothing" : "\(words.count): \(text)")
        }
        description = words.joined(separator: " ")
        minutes = try CronField.minute.bits(fields[0])
        hours = try CronField.hour.bits(fields[1])
        daysOfMonth = try CronField.dayOfMonth.bits(fields[2])
        months = try CronField.month.bits(fields[3])
        let days = try CronField.dayOfWeek.bits(fields[4])
        daysOfWeek = (days | days >> 7) & 0x7F
        isEitherDayEnough = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
    }

    private static let abbreviations = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
    ]
}

extension CronExpression: ExpressibleByStringLiteral {
    /// An expression that stands in the program's own text. A wrong one stops the program: it is a slip of the pen.
    public init(stringLiteral text: String) {
        do {
            try self.init(text)
        } catch {
            preconditionFailure("cron expression \"\(text)\": \(error)")
        }
    }
}

// MARK: - Matching
extension CronExpression {
    /// Whether every hour matches. Such a schedule follows real time, where clocks change too.
    var matchesEveryHour: Bool { hours == 0xFF_FFFF }

    func matches(_ day: CalendarDay) -> Bool {
        guard months.has(day.month) else { return false }
        let byMonth = daysOfMonth.has(day.day)
        let byWeek = daysOfWeek.has(day.weekday)
        return isEitherDayEnough ? byMonth || byWeek : byMonth && byWeek
    }

    /// The first minute of a day, counted from its 0:00, that matches and isn't before `minute`.
    func firstMinute(from minute: Int) -> Int? {
        let hour = minute / 60
        if hours.has(hour), let found = minutes.first(from: minute % 60) { return hour * 60 + found }
        guard let later = hours.first(from: hour + 1), let found = minutes.first(from: 0) else { return nil }
        return later * 60 + found
    }

    /// The first local time that matches and isn't before `start`, in seconds on the local clock since 1970.
    ///
    /// Nil where there is none within 41 years: 29 February falls on a given day of the week at least that often, and
    /// 30 February never comes. The search costs at most 15,000 steps, where few days match.
    func firstLocalTime(from start: Int64) -> Int64? {
        let minute = (start + 59).flooredQuotient(60)
        var number = minute.flooredQuotient(1440)
        var from = Int(minute - number * 1440)
        let end = number + 41 * 366
        while number <= end {
            let day = CalendarDay(number)
            if !months.has(day.month) {
                number += Int64(day.daysInMonth - day.day + 1)
            } else {
                if matches(day), let found = firstMinute(from: from) { return number * 86400 + Int64(found) * 60 }
                number += 1
            }
            from = 0
        }
        return nil
    }
}

extension UInt64 {
    fileprivate func has(_ bit: Int) -> Bool { self >> UInt64(bit) & 1 == 1 }

    /// The lowest bit that is set and not below `bit`, 0...63.
    fileprivate func first(from bit: Int) -> Int? {
        let rest = self >> UInt64(bit)
        return rest == 0 ? nil : bit + rest.trailingZeroBitCount
    }
}
