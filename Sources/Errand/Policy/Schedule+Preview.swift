import Postgres

/// A tick to come, as people and programs read it.
public struct TickPreview: Sendable, Hashable, Encodable {
    /// `2026-10-25T00:30:00Z`
    public let utc: String
    /// `2026-10-25T02:30:00+02:00`
    public let local: String
    /// A note for a tick near a change of clocks; nil otherwise.
    public let note: String?
}

extension Schedule {
    /// The next ticks after `time`, oldest first, fewer if there are no more.
    ///
    /// - Parameters:
    ///   - time: all ticks are later than this.
    ///   - count: most ticks.
    ///   - zone: the time zone of the local times. A cron expression has its own.
    public func preview(after time: Timestamp, count: Int, in zone: Zone = .utc) -> [TickPreview] {
        var zone = zone
        var expression: CronExpression?
        if case .cron(let own, let ownZone) = self { (expression, zone) = (own, ownZone) }
        var previews: [TickPreview] = []
        var last = time
        while previews.count < count, let tick = next(after: last) {
            previews.append(
                TickPreview(
                    utc: zone.text(of: tick, asUTC: true), local: zone.text(of: tick, asUTC: false),
                    note: expression.flatMap { zone.note(on: tick, of: $0) }))
            last = tick
        }
        return previews
    }
}

extension Zone {
    /// ISO 8601 with the offset; a fraction of a second only where there is one.
    fileprivate func text(of time: Timestamp, asUTC: Bool) -> String {
        let second = time.unixMicroseconds.flooredQuotient(1_000_000)
        let fraction = time.unixMicroseconds - second * 1_000_000
        let offset = asUTC ? 0 : stretch(at: second).offset
        let number = (second + offset).flooredQuotient(86400)
        let day = CalendarDay(number)
        let clock = second + offset - number * 86400
        let parts = "\(day.year)-\(day.month.twoDigits)-\(day.day.twoDigits)T\(Self.time(clock, withSeconds: true))"
        let micros = fraction == 0 ? "" : ".\(String(1_000_000 + fraction).dropFirst())"
        let suffix = asUTC ? "Z" : (offset < 0 ? "-" : "+") + Self.time(abs(offset), withSeconds: offset % 60 != 0)
        return parts + micros + suffix
    }

    /// A tick at the change stands for the times that the clock skips. Around a clock that is put back, times come
    /// twice.
    fileprivate func note(on tick: Timestamp, of expression: CronExpression) -> String? {
        let second = tick.unixMicroseconds.flooredQuotient(1_000_000)
        let now = stretch(at: second)
        if now.start == second, let before = stretch(before: now), !expression.matches(second + now.offset) {
            let (from, to) = (second + before.offset, second + now.offset)
            return "clocks go forward from \(Self.ofDay(from)) to \(Self.ofDay(to)): what lies between runs now"
        }
        let shown = second + now.offset
        if let next = stretch(after: now), next.localStart <= shown {
            return "clocks go back: \(Self.ofDay(shown)) comes twice, this is the first"
        }
        if let before = stretch(before: now), before.localEnd > shown {
            return "clocks went back: \(Self.ofDay(shown)) comes twice, this is the second"
        }
        return nil
    }

    private static func ofDay(_ local: Int64) -> String {
        let second = local - local.flooredQuotient(86400) * 86400
        return time(second, withSeconds: second % 60 != 0)
    }

    /// `09:30` or `09:30:15`
    private static func time(_ second: Int64, withSeconds: Bool) -> String {
        let parts = [second / 3600, second / 60 % 60] + (withSeconds ? [second % 60] : [])
        return parts.map { Int($0).twoDigits }.joined(separator: ":")
    }
}

extension Int {
    fileprivate var twoDigits: String { self < 10 ? "0\(self)" : "\(self)" }
}
