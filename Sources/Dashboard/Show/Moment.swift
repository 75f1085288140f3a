import Foundation

/// A time that PostgreSQL wrote into JSON, such as `2026-03-01T12:00:00.25+00:00` or `infinity`.
struct Moment: Decodable, Sendable, Equatable {
    /// Nil for infinity.
    let date: Date?

    init(_ date: Date?) { self.date = date }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        if text.hasSuffix("infinity") {
            self.init(nil)
        } else if let date = Self.parse(text) {
            self.init(date)
        } else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a time, got \(text)")
        }
    }

    private static func parse(_ text: String) -> Date? {
        guard let match = text.wholeMatch(of: /(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(\.\d+)?(?:\+00:00|Z)/) else {
            return nil
        }
        let parts = [match.1, match.2, match.3, match.4, match.5, match.6].compactMap { Int($0) }
        guard parts.count == 6 else { return nil }
        let days = daysSinceEpoch(year: parts[0], month: parts[1], day: parts[2])
        let seconds = Double(days * 86_400 + parts[3] * 3600 + parts[4] * 60 + parts[5])
        return Date(timeIntervalSince1970: seconds + (match.7.flatMap { Double("0\($0)") } ?? 0))
    }

    /// Counts in years that begin in March, so that a leap day is the last of its year.
    private static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}

/// A time as the page shows it: relative in the text, exact in the title and for programs.
struct ShownTime: Sendable, Equatable {
    let relative: String
    let exact: String
    /// For the attribute `datetime`.
    let machine: String

    init?(_ moment: Moment?, now: Date) {
        guard let date = moment?.date else { return nil }
        relative = Self.relative(date.timeIntervalSince(now))
        let parts = Self.parts(date)
        exact = "\(parts.day) \(parts.clock) UTC"
        machine = "\(parts.day)T\(parts.clock)Z"
    }

    /// `just now`, `4 min ago`, `in 3 h`.
    static func relative(_ seconds: TimeInterval) -> String {
        let length = Amount.duration(abs(seconds))
        if abs(seconds) < 1 { return "just now" }
        return seconds < 0 ? "\(length) ago" : "in \(length)"
    }

    private static func parts(_ date: Date) -> (day: String, clock: String) {
        let text = date.formatted(.iso8601)
        return (String(text.prefix(10)), String(text.dropFirst(11).prefix(8)))
    }
}
