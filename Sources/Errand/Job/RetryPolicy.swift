/// When and how often a failed attempt is retried: after growing delays with full jitter.
///
/// A worker registers it with its kind, and the database draws the delays: errand_internal.retry_delay.
public struct RetryPolicy: Sendable, Hashable {
    /// Attempts in all, the first one included; at least 1.
    public let attempts: Int
    /// The bound of the delay after each failed attempt. The last bound serves for all later ones.
    let bounds: [Duration]
    /// The random share of each bound: 1 is full jitter.
    let jitter: Double

    /// Delays whose bounds double from `first` up to `cap`. With the defaults the nine delays take 9 minutes on
    /// average.
    public static func exponential(
        attempts: Int = 10, first: Duration = .seconds(2), cap: Duration = .seconds(3600)
    ) -> RetryPolicy {
        var bounds: [Duration] = []
        var bound = first
        while bound < cap, bounds.count < attempts {
            bounds.append(bound)
            bound = bound * 2
        }
        return RetryPolicy(attempts: attempts, bounds: bounds + [cap], jitter: 1)
    }

    /// One attempt more than there are delays. Each delay is drawn from half to one and a half of its value.
    public static func delays(_ delays: Duration...) -> RetryPolicy {
        RetryPolicy(attempts: delays.count + 1, bounds: delays.map { $0 * 3 / 2 }, jitter: 2.0 / 3)
    }

    /// A single attempt.
    public static let never = RetryPolicy(attempts: 1, bounds: [.zero], jitter: 1)

    private init(attempts: Int, bounds: [Duration], jitter: Double) {
        precondition(attempts >= 1, "attempts: expected at least 1, got \(attempts)")
        self.attempts = attempts
        self.bounds = bounds
        self.jitter = jitter
    }
}
