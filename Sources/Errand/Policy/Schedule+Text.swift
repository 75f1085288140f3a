import Postgres

extension Schedule {
    /// Parses a schedule: a cron expression, or `every 30 s`. Reading the time zone costs some 50 µs, so keep the
    /// result.
    ///
    /// Behind `every` come numbers with units, such as `1 h 30 min`: `ms`, `s`, `min`, `h`, `d`, `w`, or their names.
    ///
    /// - Parameters:
    ///   - text: the schedule.
    ///   - timeZone: the time zone of a cron expression, as an IANA name. Intervals need none.
    /// - Throws: ``ScheduleError``, which names the part, what was expected and what came.
    public init(_ text: String, timeZone: String = "UTC") throws(ScheduleError) {
        self = try Self.read(text, in: try Zone(named: timeZone))
    }

    /// As ``init(_:timeZone:)``, with a zone that is loaded already.
    static func read(_ text: String, in zone: Zone) throws(ScheduleError) -> Schedule {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.first?.lowercased() == "every" else { return .cron(try CronExpression(text), zone) }
        let shown = words.joined(separator: " ")
        guard let interval = microseconds(words.dropFirst().joined(separator: " ").lowercased()),
            interval >= 1_000_000
        else {
            throw ScheduleError(
                "cron", expected: "every and an interval of 1 s to 100 years, such as every 30 s", came: shown)
        }
        return .every(.microseconds(interval))
    }

    /// The sum of numbers with their units, each unit once; nil if the text is something else, or too long.
    private static func microseconds(_ text: String) -> Int64? {
        var rest = text[...]
        var sum: Int64 = 0
        var seen: Set<Int64> = []
        repeat {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            rest = rest.dropFirst(digits.count).drop { $0 == " " }
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(unit.count).drop { $0 == " " }
            guard let count = Int64(digits), let factor = units[String(unit)], seen.insert(factor).inserted else {
                return nil
            }
            let (part, isOver) = count.multipliedReportingOverflow(by: factor)
            let (whole, isSumOver) = sum.addingReportingOverflow(part)
            guard !isOver, !isSumOver else { return nil }
            sum = whole
        } while !rest.isEmpty
        return sum <= mostMicroseconds ? sum : nil
    }

    /// A hundred years; a longer interval could not be told from never.
    private static let mostMicroseconds: Int64 = 36_525 * 86_400_000_000

    /// In microseconds.
    private static let units: [String: Int64] = {
        let names: [(Int64, String)] = [
            (1, "us"), (1000, "ms"), (1_000_000, "s sec secs second seconds"),
            (60_000_000, "m min mins minute minutes"), (3_600_000_000, "h hr hrs hour hours"),
            (86_400_000_000, "d day days"), (604_800_000_000, "w week weeks"),
        ]
        return Dictionary(
            uniqueKeysWithValues: names.flatMap { factor, names in
                names.split(separator: " ").map { (String($0), factor) }
            })
    }()
}
