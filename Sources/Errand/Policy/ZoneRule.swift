/// The rule at the end of a time-zone file, for all years to come: `CET-1CEST,M3.5.0,M10.5.0/3`.
///
/// The notation is that of the POSIX variable TZ, with the wider hours of RFC 8536.
struct ZoneRule {
    /// In seconds east of UTC.
    let standard: Int64
    /// Nil if the clocks never change.
    private let summer: (offset: Int64, start: Change, end: Change)?

    /// One change of a year: a day, and the local time on the clock that is in force until then.
    fileprivate struct Change {
        enum Day {
            /// The given weekday (0 is Sunday) of a week 1...5 of a month; 5 is the last.
            case weekday(month: Int, week: Int, weekday: Int)
            /// 1...365; 29 February is never counted.
            case withoutLeapDay(Int)
            /// 0...365
            case counted(Int)
        }

        let day: Day
        let time: Int64

        /// In local seconds since 1970.
        func localTime(in year: Int) -> Int64 {
            let number: Int64
            switch day {
            case .weekday(let month, let week, let weekday):
                let first = CalendarDay.number(year: year, month: month, day: 1)
                let shift = (weekday - CalendarDay(first).weekday + 7) % 7 + 7 * (week - 1)
                let isBeyond = shift >= CalendarDay.days(inMonth: month, of: year)
                number = first + Int64(isBeyond ? shift - 7 : shift)
            case .withoutLeapDay(let day):
                let leap = CalendarDay.isLeap(year) && day >= 60 ? 1 : 0
                number = CalendarDay.number(year: year, month: 1, day: 1) + Int64(day - 1 + leap)
            case .counted(let day):
                number = CalendarDay.number(year: year, month: 1, day: 1) + Int64(day)
            }
            return number * 86400 + time
        }
    }

    /// The changes after a moment, in order, each with the offset from then on.
    ///
    /// - Parameter time: the last change that is known from elsewhere; nil for the changes from 1970 on.
    func changes(after time: Int64?, through lastYear: Int) -> [(Int64, Int64)] {
        guard let summer else { return [] }
        let firstYear = time.map { CalendarDay($0.flooredQuotient(86400)).year } ?? 1970
        guard firstYear <= lastYear else { return [] }
        return (firstYear...lastYear).flatMap { year in
            [
                (summer.start.localTime(in: year) - standard, summer.offset),
                (summer.end.localTime(in: year) - summer.offset, standard),
            ]
        }
        .filter { change, _ in time.map { change > $0 } ?? true }
        .sorted { $0.0 < $1.0 }
    }
}

// MARK: - Reading
extension ZoneRule {
    /// Nil if the text has another notation.
    init?(_ text: String) {
        var text = text[...]
        guard Self.skipName(&text), let west = Self.time(&text) else { return nil }
        standard = -west
        if text.isEmpty {
            summer = nil
            return
        }
        guard Self.skipName(&text) else { return nil }
        let offset = text.first == "," ? standard + 3600 : Self.time(&text).map { -$0 }
        guard let offset, let start = Change(&text), let end = Change(&text), text.isEmpty else { return nil }
        summer = (offset, start, end)
    }

    private static func skipName(_ text: inout Substring) -> Bool {
        let name: Substring
        if text.first == "<" {
            guard let end = text.firstIndex(of: ">") else { return false }
            name = text[...end]
        } else {
            name = text.prefix { $0.isLetter }
        }
        text = text.dropFirst(name.count)
        return name.count >= 3
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    fileprivate static func time(_ text: inout Substring) -> Int64? {
        let isNegative = text.first == "-"
        if text.first == "-" || text.first == "+" { text = text.dropFirst() }
        var seconds: Int64 = 0
        for unit: Int64 in [3600, 60, 1] {
            guard let value = number(&text) else { return nil }
            seconds += Int64(value) * unit
            guard unit > 1, text.first == ":" else { break }
            text = text.dropFirst()
        }
        return isNegative ? -seconds : seconds
    }

    fileprivate static func number(_ text: inout Substring) -> Int? {
        let digits = text.prefix { ("0"..."9").contains($0) }
        text = text.dropFirst(digits.count)
        return digits.count <= 3 ? Int(digits) : nil
    }
}

extension ZoneRule.Change {
    /// `,M3.5.0/2`, `,J60` or `,59`. The default time is 2:00.
    fileprivate init?(_ text: inout Substring) {
        guard text.first == "," else { return nil }
        text = text.dropFirst()
        switch text.first {
        case "M":
            text = text.dropFirst()
            var parts: [Int] = []
            for index in 0..<3 {
                if index > 0 {
                    guard text.first == "." else { return nil }
                    text = text.dropFirst()
                }
                guard let part = ZoneRule.number(&text) else { return nil }
                parts.append(part)
            }
            guard (1...12).contains(parts[0]), (1...5).contains(parts[1]), (0...6).contains(parts[2]) else {
                return nil
            }
            day = .weekday(month: parts[0], week: parts[1], weekday: parts[2])
        case "J":
            text = text.dropFirst()
            guard let number = ZoneRule.number(&text), (1...365).contains(number) else { return nil }
            day = .withoutLeapDay(number)
        default:
            guard let number = ZoneRule.number(&text), (0...365).contains(number) else { return nil }
            day = .counted(number)
        }
        guard text.first == "/" else {
            time = 2 * 3600
            return
        }
        text = text.dropFirst()
        guard let time = ZoneRule.time(&text) else { return nil }
        self.time = time
    }
}
