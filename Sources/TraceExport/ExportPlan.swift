/// Decides when the next batch is sent: when it is full, when its first span has waited for the interval, and after a
/// failure when the collector may be tried again.
struct ExportPlan {
    typealias Instant = ContinuousClock.Instant

    private let limits: ExportLimits
    private var failures = 0
    private var notBefore: Instant?
    private var waitingSince: Instant?

    init(_ limits: ExportLimits) { self.limits = limits }

    /// How long to wait; zero to send now, nil to wait for a span.
    ///
    /// - Parameter isUrgent: whether to send without waiting for the interval.
    mutating func delay(waiting: Int, _ isUrgent: Bool, at now: Instant) -> Duration? {
        guard waiting > 0 else {
            waitingSince = nil
            return nil
        }
        let since = waitingSince ?? now
        waitingSince = since
        let due = waiting >= limits.batch || isUrgent ? now : since + limits.interval
        return max(.zero, max(due, notBefore ?? due) - now)
    }

    /// The collector took or refused the batch.
    mutating func completed() {
        failures = 0
        notBefore = nil
        waitingSince = nil
    }

    /// The collector may be tried again: after the delay that it asked for, or else after 1, 2, 4 … 30 s.
    mutating func failed(retryAfter: Duration?, at now: Instant) {
        failures += 1
        let delay = retryAfter.map { min($0, .seconds(300)) } ?? min(.seconds(1 << min(failures - 1, 5)), .seconds(30))
        notBefore = now + delay
    }
}

/// How much is buffered, and how long things may take.
package struct ExportLimits: Sendable {
    /// How many ended spans wait at most. Default 2048.
    package var queue = 2048
    /// How many spans a request has at most. Default 512.
    package var batch = 512
    /// How long a span waits for others. Default 5 s.
    package var interval: Duration = .seconds(5)
    /// How long a request may take. Default 10 s.
    package var request: Duration = .seconds(10)

    package init() {}
}
