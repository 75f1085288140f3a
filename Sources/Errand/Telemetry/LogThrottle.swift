/// Allows one log line per ten seconds, so that a long outage doesn't fill a disk.
package struct LogThrottle: Sendable {
    private var last: ContinuousClock.Instant?

    package init() {}

    package mutating func allowsLine(at now: ContinuousClock.Instant = .now) -> Bool {
        if let last, now - last < .seconds(10) { return false }
        last = now
        return true
    }
}
