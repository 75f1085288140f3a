import Glibc

/// Decides what a signal requests: SIGTERM and SIGINT a graceful stop, a later signal, SIGHUP and SIGQUIT an immediate
/// stop.
struct StopRequests {
    enum Step: Equatable { case graceful, atOnce, ignored }

    /// The signals that stop the process, with their names.
    static let signals = [SIGTERM: "SIGTERM", SIGINT: "SIGINT", SIGHUP: "SIGHUP", SIGQUIT: "SIGQUIT"]

    /// How long after the first signal another one is the same request, unless it is SIGQUIT. timeout(1), terminals and
    /// some runners signal a process and its group, systemd can send SIGHUP right after SIGTERM, and the second signal
    /// must not end the grace period.
    static let echo: Duration = .seconds(1)

    private var first: ContinuousClock.Instant?
    private var isForced = false

    var isRequested: Bool { first != nil }

    mutating func heard(_ signal: Int32, at now: ContinuousClock.Instant) -> Step {
        let isLater = first.map { now - $0 >= Self.echo }
        first = first ?? now
        guard !isForced else { return .ignored }
        isForced = signal == SIGQUIT || isLater ?? (signal == SIGHUP)
        if isForced { return .atOnce }
        return isLater == nil ? .graceful : .ignored
    }
}
