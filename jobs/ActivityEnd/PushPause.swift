import ErrandPush

/// When a push is tried again that was not accepted.
///
/// Apple asks for 15 minutes after a 500 or 503, then longer. Where a push is of no use any more by then, as an end a minute
/// before the 8 hours, it is tried in growing pauses within what is left. Pure: chance is passed in.
enum PushPause {
    private static let unavailable: [Duration] = [.seconds(900), .seconds(1800), .seconds(3600)]

    /// The pause after the failed attempt of that number, counted from 1; nil where no time is left for another.
    ///
    /// - Parameter left: how long the push is of use.
    static func pause(
        after code: PushError.Code, attempt: Int, left: Duration, using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard left > .seconds(1) else { return nil }
        let jitter = Double.random(in: 0...0.2, using: &random)
        if code == .unavailable {
            let asked = unavailable[min(max(attempt, 1), unavailable.count) - 1] * (1 + jitter)
            if asked + .seconds(60) < left { return asked }
        }
        let first: Duration =
            switch code {
            case .deviceBusy: .seconds(4)
            case .tooManyTokens: .seconds(8)
            default: .seconds(1)
            }
        let growing = first * Double(1 << min(max(attempt, 1) - 1, 10)) * (1 - jitter)
        // Half of what is left, so that there is always one more try before the end.
        return min(growing, .seconds(900), left / 2)
    }
}
