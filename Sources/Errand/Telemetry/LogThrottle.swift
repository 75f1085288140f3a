/// Allows one log line per ten seconds, so that a long outage doesn't fill a disk.
struct LogThrottle {
    private var last: ContinuousClock.Instant?

    mutating func allowsLine(at now: ContinuousClock.Instant = .now) -> Bool {
        if let last, now - last < .seconds(10) { return false }
        last = now
        return true
    }
}
