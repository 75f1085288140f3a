import Foundation

/// A response of APNs, and its verdict.
struct APNsResponse: Sendable, Hashable {
    enum Verdict: Sendable, Hashable {
        case accepted
        /// The device's token is invalid.
        case tokenGone
        /// The push would be refused again.
        case refused
        /// The push may be accepted with a new provider token.
        case renewToken
        /// The push may be accepted with the previous provider token.
        case keepToken
        /// The push may be accepted over a new connection.
        case reconnect
        /// Nothing is accepted until key, team, topic or clock are fixed.
        case misconfigured
        /// Too many pushes for this device.
        case deviceBusy
        case unavailable
    }

    let status: Int
    /// Apple's reason, such as `BadDeviceToken`; empty if none came.
    let reason: String
    /// Since when the device's token is invalid.
    let since: Date?

    init(status: Int, reason: String = "", since: Date? = nil) {
        self.status = status
        self.reason = reason
        self.since = since
    }

    /// - Parameter body: JSON, or nothing.
    init(status: Int, body: [UInt8]) {
        struct Body: Decodable {
            var reason: String?
            /// Milliseconds.
            var timestamp: Double?
        }
        let body = try? JSONDecoder().decode(Body.self, from: Data(body))
        self.init(
            status: status, reason: String((body?.reason ?? "").prefix(100).filter { $0.isASCII && $0.isLetter }),
            since: body?.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) })
    }

    var verdict: Verdict {
        switch (status, reason) {
        case (200, _): .accepted
        case (410, _), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): .tokenGone
        case (400, "IdleTimeout"), (503, "Shutdown"), (403, "UnrelatedKeyIdInToken"): .reconnect
        case (403, "ExpiredProviderToken"): .renewToken
        case (403, _): .misconfigured
        case (429, "TooManyProviderTokenUpdates"): .keepToken
        case (429, _): .deviceBusy
        case (400...499, _): .refused
        default: .unavailable
        }
    }

    /// The error, if no immediate retry helps.
    var error: PushError? {
        let code: PushError.Code
        switch verdict {
        case .accepted: return nil
        case .tokenGone: code = .tokenGone
        case .refused: code = .refused
        case .misconfigured, .renewToken: code = .misconfigured
        case .reconnect: code = status == 403 ? .misconfigured : .unavailable
        case .keepToken: code = .tooManyTokens
        case .deviceBusy: code = .deviceBusy
        case .unavailable: code = .unavailable
        }
        return PushError(code, status: status, reason: reason.isEmpty ? "without a reason" : reason, since: since)
    }
}
