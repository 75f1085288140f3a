import Postgres

/// Decides when a lease keeper sends heartbeats, when it retries after a failure, and how long it waits between two
/// rounds.
struct HeartbeatPlan {
    typealias Instant = ContinuousClock.Instant

    /// Between two rounds: how late a deadline may be noticed.
    static let interval: Duration = .milliseconds(100)
    /// The same after this long without a running job.
    static let rest: Duration = .seconds(1)
    /// The longest between two heartbeats while a cancellation is found only by one.
    static let askingInterval: Duration = .milliseconds(500)

    private let period: Duration
    private var last: Instant
    private var isRequested = false
    private var lastRan: Instant
    private var nextTry: Instant
    private var backoff: Backoff

    /// - Parameter period: between two heartbeats. The first one is due at once.
    init(every period: Duration, at now: Instant) {
        self.period = period
        last = now - period
        lastRan = now
        nextTry = now
        backoff = Backoff(first: Self.interval, cap: min(.seconds(1), period))
    }

    /// Whether the delay after a failure is over.
    func mayTry(at now: Instant) -> Bool { nextTry <= now }

    /// Whether a heartbeat is due.
    ///
    /// - Parameter isAsking: whether a cancellation is found only by a heartbeat.
    func isDue(at now: Instant, isAsking: Bool) -> Bool { last + period(isAsking) <= now || isRequested }

    /// A heartbeat succeeded.
    mutating func sent(at now: Instant) {
        last = now
        isRequested = false
    }

    /// Requests a heartbeat at once. Returns the earliest time for it: any role may send a NOTIFY, as often as it
    /// likes.
    mutating func request() -> Instant {
        isRequested = true
        return last + Self.interval
    }

    mutating func succeeded() { backoff.reset() }

    mutating func failed(at now: Instant) { nextTry = now + backoff.next() }

    /// Something runs or has run, or something is wrong.
    mutating func ran(at now: Instant) { lastRan = now }

    /// How long to wait until the next round, and whether the wait ends when something begins to run.
    func wait(at now: Instant, isAsking: Bool) -> (atMost: Duration, isResting: Bool) {
        let isResting = lastRan + Self.rest <= now
        let limit = isResting ? min(Self.rest, last + period(isAsking) - now) : Self.interval
        return (max(Self.interval, limit), isResting)
    }

    private func period(_ isAsking: Bool) -> Duration { isAsking ? min(Self.askingInterval, period) : period }
}
