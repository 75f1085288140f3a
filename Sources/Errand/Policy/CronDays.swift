/// The days on which a cron expression ticks, from its two fields of days.
struct CronDays: Sendable, Hashable {
    /// One bit a day of the month.
    private(set) var daysOfMonth: UInt64 = 0
    /// One bit for each number of days before the month's last: bit 0 is `L`, bit 3 is `L-3`.
    private(set) var daysBeforeLast: UInt64 = 0
    /// One bit a weekday, Sunday is bit 0.
    private(set) var daysOfWeek: UInt64 = 0
    /// `5#2`, the second Friday, is bit 2 * 7 + 5.
    private(set) var weekdaysOfMonth: UInt64 = 0
    /// `5L`, the last Friday, is bit 5.
    private(set) var lastWeekdays: UInt64 = 0
    /// If both fields are restricted, a day that matches one of them is enough.
    let isEitherEnough: Bool

    init(dayOfMonth: Substring, dayOfWeek: Substring) throws(ScheduleError) {
        isEitherEnough = !dayOfMonth.hasPrefix("*") && !dayOfWeek.hasPrefix("*")
        for item in dayOfMonth.split(separator: ",", omittingEmptySubsequences: false) { try add(dayOfMonth: item) }
        for item in dayOfWeek.split(separator: ",", omittingEmptySubsequences: false) { try add(dayOfWeek: item) }
        daysOfWeek = (daysOfWeek | daysOfWeek >> 7) & 0x7F
    }

    private mutating func add(dayOfMonth item: Substring) throws(ScheduleError) {
        guard item.first == "L" || item.first == "l" else {
            daysOfMonth |= try CronField.dayOfMonth.bits(ofItem: item)
            return
        }
        let rest = item.dropFirst()
        guard rest.isEmpty || rest.first == "-" else { throw CronField.dayOfMonth.unexpected(item) }
        let before = rest.isEmpty ? 0 : CronField.number(rest.dropFirst())
        guard let before, before <= 30 else { throw CronField.dayOfMonth.unexpected(item) }
        daysBeforeLast |= 1 << before
    }

    private mutating func add(dayOfWeek item: Substring) throws(ScheduleError) {
        let field = CronField.dayOfWeek
        if let mark = item.firstIndex(of: "#") {
            let weekday = try field.value(item[..<mark], in: item) % 7
            guard let index = CronField.number(item[item.index(after: mark)...]), (1...5).contains(index) else {
                throw ScheduleError(field.name, expected: "1 to 5 behind #", came: String(item))
            }
            weekdaysOfMonth |= 1 << (index * 7 + weekday)
        } else if item.last == "L" || item.last == "l" {
            lastWeekdays |= 1 << (try field.value(item.dropLast(), in: item) % 7)
        } else {
            daysOfWeek |= try field.bits(ofItem: item)
        }
    }

    /// Whether it ticks on a day of a month that matches.
    func matches(_ day: CalendarDay) -> Bool { matches(day.day, of: day.daysInMonth, on: day.weekday) }

    /// Whether it ever ticks in a month of that many days, on whatever weekday that begins.
    func matchesSome(ofDays count: Int) -> Bool {
        (0...6).contains { first in (1...count).contains { matches($0, of: count, on: (first + $0 - 1) % 7) } }
    }

    private func matches(_ day: Int, of count: Int, on weekday: Int) -> Bool {
        let byMonth = daysOfMonth.has(day) || daysBeforeLast.has(count - day)
        let byWeek =
            daysOfWeek.has(weekday) || weekdaysOfMonth.has((day + 6) / 7 * 7 + weekday)
            || (day + 7 > count && lastWeekdays.has(weekday))
        return isEitherEnough ? byMonth || byWeek : byMonth && byWeek
    }
}

extension UInt64 {
    /// Whether a bit, 0...63, is set.
    func has(_ bit: Int) -> Bool { self >> UInt64(bit) & 1 == 1 }

    /// The lowest bit that is set and not below `bit`, 0...63.
    func first(from bit: Int) -> Int? {
        let rest = self >> UInt64(bit)
        return rest == 0 ? nil : bit + rest.trailingZeroBitCount
    }
}
