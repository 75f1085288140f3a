import Postgres

/// When jobs are enqueued: at fixed intervals, or at times of the local clock of some place.
///
/// Where clocks change, a local time that is skipped ticks once, at the first moment that is left (a day that is
/// skipped as a whole has no ticks), and one that comes twice ticks once, the first time. A cron expression whose hours
/// all match follows real time instead: it ticks whenever the clock shows a time that matches.
public enum Schedule: Sendable, Hashable {
    /// Whole multiples of the duration since 1970-01-01 00:00 UTC, at least 1 s apart. Never skips.
    case every(Duration)
    case cron(CronExpression, Zone)

    /// What came before 1970 and after 2199 is no time for a job; searches end there.
    private static let times: ClosedRange<Int64> = 0...7_258_118_399

    /// The first tick after `time`; nil if there is none, as for 30 February.
    ///
    /// - Complexity: 0.1 µs for a schedule that ticks daily, 5 µs for a yearly one, 40 µs where there is no such date.
    public func next(after time: Timestamp) -> Timestamp? {
        switch self {
        case .every(let interval):
            let interval = max(interval.wholeMicroseconds, 1_000_000)
            let elapsed = max(time.unixMicroseconds, 0)
            return Timestamp(unixMicroseconds: (elapsed / interval + 1) * interval)
        case .cron(let expression, let zone):
            let seconds = time.unixMicroseconds.flooredQuotient(1_000_000)
            guard seconds < Self.times.upperBound else { return nil }
            let after = max(seconds, Self.times.lowerBound - 1)
            let found =
                expression.matchesEveryHour
                ? expression.nextInRealTime(after: after, in: zone) : expression.nextOnTheClock(after: after, in: zone)
            return found.flatMap { Self.times.contains($0) ? Timestamp(unixMicroseconds: $0 * 1_000_000) : nil }
        }
    }

    /// All ticks after `start` up to and with `end`, oldest first. Costs microseconds each.
    public func ticks(after start: Timestamp, through end: Timestamp) -> [Timestamp] {
        var ticks: [Timestamp] = []
        var last = start
        while let tick = next(after: last), tick <= end {
            ticks.append(tick)
            last = tick
        }
        return ticks
    }

    /// The last `count` ticks after `start` up to and with `end`, oldest first, and whether there are earlier ones.
    ///
    /// It looks back over spans that double, so that it costs about what it finds, however long ago `start` is.
    func lastTicks(
        _ count: Int, after start: Timestamp, through end: Timestamp
    ) -> (ticks: [Timestamp], isComplete: Bool) {
        let start = max(start, Timestamp(unixMicroseconds: 0))
        var span: Int64 = 60_000_000
        while true {
            let from = max(start, Timestamp(microseconds: end.microseconds - span))
            let found = ticks(after: from, through: end)
            if from == start || found.count > count { return (found.suffix(count), found.count <= count) }
            span *= 2
        }
    }
}

// MARK: - The two readings of a clock that changes
extension CronExpression {
    /// Each local time once: at the first moment at which the clock shows it or, where it is skipped, a later one.
    fileprivate func nextOnTheClock(after time: Int64, in zone: Zone) -> Int64? {
        // What the clock has shown already is over, even if it was put back since.
        var from = zone.highestLocalTime(through: time) + 1
        while let local = firstLocalTime(from: from) {
            let day = local.flooredQuotient(86400)
            if zone.hasDay(day) { return zone.firstMoment(showing: local) }
            from = (day + 1) * 86400
        }
        return nil
    }

    /// Every moment at which the clock shows a time that matches.
    fileprivate func nextInRealTime(after time: Int64, in zone: Zone) -> Int64? {
        var stretch = zone.stretch(at: time + 1)
        var from = time + 1 + stretch.offset
        while let local = firstLocalTime(from: from) {
            if local < stretch.localEnd { return local - stretch.offset }
            guard let next = zone.stretch(after: stretch) else { return nil }
            stretch = next
            from = stretch.localStart
        }
        return nil
    }
}

extension Timestamp {
    /// From 1970-01-01, where Unix begins to count, to 2000-01-01, where PostgreSQL does.
    private static let unixToPostgres: Int64 = 946_684_800_000_000

    var unixMicroseconds: Int64 { microseconds + Self.unixToPostgres }

    init(unixMicroseconds: Int64) { self.init(microseconds: unixMicroseconds - Self.unixToPostgres) }
}
