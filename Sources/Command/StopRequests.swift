/// What each signal asks for: the first a graceful end, a later one an end at once.
struct StopRequests {
    enum Step: Equatable { case graceful, atOnce, ignored }

    /// How soon after the first one another signal is the same request. timeout(1), terminals and some runners signal a
    /// process and its group; one that needs a moment to do both must not take the grace from running jobs.
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
