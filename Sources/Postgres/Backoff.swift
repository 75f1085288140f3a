/// Growing delays between attempts to reach a server that is down. Each is drawn from the upper half of its bound, so
/// that many clients don't reconnect at the same moment.
package struct Backoff: Sendable {
    private let first: Duration
    private let cap: Duration
    private var bound: Duration

    /// Bounds double from `first` to `cap`.
    package init(first: Duration = .milliseconds(50), cap: Duration = .seconds(5)) {
        self.first = first
        self.cap = cap
        bound = first
    }

    /// The delay before the next attempt.
    package mutating func next() -> Duration {
        var random = SystemRandomNumberGenerator()
        return next(using: &random)
    }

    /// The delay before the next attempt, drawn by the caller's generator.
    package mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        defer { bound = min(cap, bound * 2) }
        return bound * Double.random(in: 0.5...1, using: &random)
    }

    /// The server was reached: the next delay is short again.
    package mutating func reset() { bound = first }
}
