import ErrandPush

/// When a push that was not accepted is retried.
///
/// Apple asks for 15 minutes after a 500 or 503, then longer. If a push is useless by then, such as an end a minute
/// before the 8 hours, it is retried after growing delays within the time left. A pure decision: the random generator
/// is passed in.
enum PushBackoff {
    private static let unavailable: [Duration] = [.seconds(900), .seconds(1800), .seconds(3600)]

    /// The delay after the failed attempt with this number, counted from 1; nil if no time is left for another.
    ///
    /// - Parameters:
    ///   - left: how long the push is useful.
    ///   - route: whose rules count.
    ///   - asked: how long the service wants to be left alone.
    static func delay(
        after code: PushError.Code, attempt: Int, left: Duration, by route: PushRoute = .apns, asked: Duration? = nil,
        using random: inout some RandomNumberGenerator
    ) -> Duration? {
        guard left > .seconds(1) else { return nil }
        let jitter = Double.random(in: 0...0.2, using: &random)
        if code == .unavailable, route != .fcm, asked == nil {
            let asked = unavailable[min(max(attempt, 1), unavailable.count) - 1] * (1 + jitter)
            if asked + .seconds(60) < left { return asked }
        }
        let first: Duration =
            switch code {
            case .deviceBusy: .seconds(4)
            case .tooManyTokens: .seconds(8)
            case .quotaExceeded: .seconds(60)
            default: .seconds(1)
            }
        let growing = first * Double(1 << min(max(attempt, 1) - 1, 10)) * (1 - jitter)
        guard let asked else {
            // Half of the time left, so that there is always one more attempt before the end.
            return min(growing, .seconds(900), left / 2)
        }
        // Not all at once, if there is time for that.
        let later = max(asked, min(growing, .seconds(900))) * (1 + jitter)
        if later + .seconds(1) < left { return later }
        return asked + .seconds(1) < left ? asked : nil
    }
}
