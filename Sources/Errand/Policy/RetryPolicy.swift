/// When a failed attempt is repeated, and how often: pauses that grow, each with full jitter.
///
/// Full jitter means a pause drawn evenly from 0 to its bound: of all ways to spread retries it keeps the load of many
/// jobs that fail together lowest (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
public struct RetryPolicy: Sendable, Hashable {
    /// Attempts in all, the first one included; at least 1.
    public let attempts: Int
    /// The bound of the pause after each failed attempt; the last one serves for all that follow.
    let bounds: [Duration]
    /// The part of each bound that is drawn by lot: 1 is full jitter.
    let jitter: Double

    /// Pauses whose bounds double from `first` up to `cap`. With the defaults the nine pauses come to 9 minutes on average.
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

    /// One more attempt a pause, each about as long as given: drawn from half of it to one and a half.
    public static func pauses(_ pauses: Duration...) -> RetryPolicy {
        RetryPolicy(attempts: pauses.count + 1, bounds: pauses.map { $0 * 3 / 2 }, jitter: 2.0 / 3)
    }

    /// One attempt and no other.
    public static let never = RetryPolicy(attempts: 1, bounds: [.zero], jitter: 1)

    private init(attempts: Int, bounds: [Duration], jitter: Double) {
        precondition(attempts >= 1, "attempts: expected at least 1, got \(attempts)")
        self.attempts = attempts
        self.bounds = bounds
        self.jitter = jitter
    }

    /// The pause after the failed attempt of that number, counted from 1.
    public func pause(afterAttempt attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let bound = bounds[min(max(attempt, 1), bounds.count) - 1]
        return bound * (1 - jitter + Double.random(in: 0...jitter, using: &random))
    }
}
