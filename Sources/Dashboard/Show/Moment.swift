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

    /// Reads the text by hand: a page shows hundreds of moments, and a regular expression took half of its duration.
    private static func parse(_ text: String) -> Date? {
        guard let zone = ["+00:00", "Z"].first(where: text.hasSuffix) else { return nil }
        let parts = text.utf8.dropLast(zone.utf8.count).split(separator: UInt8(ascii: "T"))
        guard parts.count == 2, let day = wholes(parts[0], by: "-") else { return nil }
        let seconds = parts[1].split(separator: UInt8(ascii: "."), maxSplits: 1)
        guard let clock = seconds.first.flatMap({ wholes($0, by: ":") }) else { return nil }
        var fraction = 0.0
        if seconds.count == 2 {
            guard let digits = whole(seconds[1]) else { return nil }
            fraction = Double(digits) / pow(10, Double(seconds[1].count))
        }
        let days = daysSinceEpoch(year: day[0], month: day[1], day: day[2])
        let whole = days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
        return Date(timeIntervalSince1970: Double(whole) + fraction)
    }

    /// Three whole numbers.
    private static func wholes(_ text: Substring.UTF8View, by separator: Unicode.Scalar) -> [Int]? {
        let parts = text.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false)
        let numbers = parts.compactMap(whole)
        return parts.count == 3 && numbers.count == 3 ? numbers : nil
    }

    private static func whole(_ digits: Substring.UTF8View) -> Int? {
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(Substring(digits))
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
