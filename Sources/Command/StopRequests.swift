/// Decides what a signal requests: the first a graceful stop, a later one an immediate stop.
struct StopRequests {
    enum Step: Equatable { case graceful, atOnce, ignored }

    /// How long after the first signal another one is the same request. timeout(1), terminals and some runners signal a
    /// process and its group, and the second signal must not end the grace period.
    static let echo: Duration = .seconds(1)

    private var first: ContinuousClock.Instant?
    private var isForced = false

    var isRequested: Bool { first != nil }

    mutating func heard(at now: ContinuousClock.Instant) -> Step {
        guard let first else {
            first = now
            return .graceful
        }
        guard !isForced, now - first >= Self.echo else { return .ignored }
        isForced = true
        return .atOnce
    }
}
