/// When a schedule ticks, as five fields of local time: minute, hour, day of the month, month, day of the week.
///
/// ```text
/// 0 9 * * MON-FRI      at 9:00 from Monday to Friday
/// */10 * * * *         every ten minutes
/// 30 2 1,15 * *        at 2:30 on the 1st and the 15th
/// */15 0 9 * * *       six fields begin with the second: at 9:00:00, 9:00:15, 9:00:30 and 9:00:45
/// 0 18 L * *           at 18:00 on the month's last day; L-3 is three days before it
/// 0 9 * * FRI#2        at 9:00 on the second Friday, as 5#2; FRIL is the last one
/// @daily               at 0:00; likewise @hourly @weekly @monthly @yearly @midnight @annually
/// ```
/// A field is `*`, a value, a range `1-5`, any of these with a step (`*/2`, `1-31/7`, `5/10` from 5 on), or a list of
/// those. Months and days have names as well, `JAN` or `january`; Sunday is 0 and 7. Where day of the month and day of
/// the week are both restricted (neither begins with `*`), one of them is enough, as in cron since 1979.
public struct CronExpression: Sendable, Hashable, CustomStringConvertible {
    /// As it was written.
    public let description: String
    /// One bit a value that matches.
    let seconds: UInt64
    let minutes: UInt64
    let hours: UInt64
    let months: UInt64
    let days: CronDays

    /// Reads an expression; the cost is microseconds.
    ///
    /// - Throws: ``ScheduleError``, which names the field, what was expected and what came. So does a date that never
    ///   comes, such as 30 February.
    public init(_ text: String) throws(ScheduleError) {
        let words = text.split(whereSeparator: \.isWhitespace)
        var fields = words
        if let first = words.first, first.hasPrefix("@"), words.count == 1 {
            guard let meaning = Self.abbreviations[first.lowercased()] else {
                throw ScheduleError(
                    "cron", expected: Self.abbreviations.keys.sorted().joined(separator: ", "), came: String(first))
            }
            fields = meaning.split(separator: " ")
        }
        guard fields.count == 5 || fields.count == 6 else {
            throw ScheduleError(
                "cron",
                expected: "five fields (minute, hour, day of month, month, day of week) or six with the second first",
                came: words.isEmpty ? "nothing" : "\(words.count): \(text)")
        }
        description = words.joined(separator: " ")
        guard description.unicodeScalars.count <= 500 else {
            throw ScheduleError(
                "cron", expected: "at most 500 characters", came: "\(description.unicodeScalars.count)")
        }
        seconds = fields.count == 6 ? try CronField.second.bits(fields.removeFirst()) : 1
        minutes = try CronField.minute.bits(fields[0])
        hours = try CronField.hour.bits(fields[1])
        days = try CronDays(dayOfMonth: fields[2], dayOfWeek: fields[4])
        months = try CronField.month.bits(fields[3])
        // A leap year's months are the longest, and each begins on each weekday at some time.
        let hasDate = (1...12).contains { month in
            months.has(month)
                && (days.matchesSome(ofDays: CalendarDay.days(inMonth: month, of: 2000))
                    || (month == 2 && days.matchesSome(ofDays: 28)))
        }
        guard hasDate else {
            throw ScheduleError("cron", expected: "a date that comes", came: description)
        }
    }

    private static let abbreviations = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
    ]
}

extension CronExpression: ExpressibleByStringLiteral {
    /// An expression in the program's source. A malformed one stops the program.
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
    /// Whether every hour matches. Such a schedule follows real time, even where clocks change.
    var matchesEveryHour: Bool { hours == 0xFF_FFFF }

    /// Whether a time of the local clock matches, in seconds since 1970.
    func matches(_ local: Int64) -> Bool {
        let number = local.flooredQuotient(86400)
        let second = Int(local - number * 86400)
        let day = CalendarDay(number)
        return seconds.has(second % 60) && minutes.has(second / 60 % 60) && hours.has(second / 3600)
            && months.has(day.month) && days.matches(day)
    }

    /// The first second of a day, counted from its 0:00, that matches and isn't before `second`.
    private func firstSecond(from second: Int) -> Int? {
        let (hour, minute) = (second / 3600, second / 60 % 60)
        // Each field has a value at least.
        let firstSecond = seconds.trailingZeroBitCount
        if hours.has(hour) {
            if minutes.has(minute), let found = seconds.first(from: second % 60) { return second - second % 60 + found }
            if let later = minutes.first(from: minute + 1) { return hour * 3600 + later * 60 + firstSecond }
        }
        guard let later = hours.first(from: hour + 1) else { return nil }
        return later * 3600 + minutes.trailingZeroBitCount * 60 + firstSecond
    }

    /// The first local time that matches and isn't before `start`, in seconds on the local clock since 1970.
    ///
    /// Nil if there is none within 41 years: 29 February falls on a given day of the week at least that often, and
    /// 30 February never comes. The search costs at most 15,000 steps, where few days match.
    func firstLocalTime(from start: Int64) -> Int64? {
        var number = start.flooredQuotient(86400)
        var from = Int(start - number * 86400)
        let end = number + 41 * 366
        while number <= end {
            let day = CalendarDay(number)
            if !months.has(day.month) {
                number += Int64(day.daysInMonth - day.day + 1)
            } else {
                if days.matches(day), let found = firstSecond(from: from) { return number * 86400 + Int64(found) }
                number += 1
            }
            from = 0
        }
        return nil
    }
}
