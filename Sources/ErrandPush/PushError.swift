import Foundation
import Outbound

/// Why a push was not accepted.
public struct PushError: Error, OutboundError, Sendable, Hashable {
    /// What kind of failure it was. More may come: compare, and have a default.
    public struct Code: Hashable, Sendable {
        let name: String
        /// The device's token is invalid for good: delete it.
        public static let tokenGone = Code(name: "token gone")
        /// The service never accepts such a push: the caller has to change it.
        public static let refused = Code(name: "refused")
        /// Key, team, topic or clock are wrong. An operator has to fix that.
        public static let misconfigured = Code(name: "misconfigured")
        /// Nothing can be sent: refused, no route, no address, no TLS, no reply to the connect.
        public static let unreachable = Code(name: "unreachable")
        /// Too many pushes for this one device, for now.
        public static let deviceBusy = Code(name: "too many for one device")
        /// Too many pushes in all, for now.
        public static let quotaExceeded = Code(name: "quota exceeded")
        /// The service asks for fewer provider tokens, for now.
        public static let tooManyTokens = Code(name: "too many provider tokens")
        /// The service can't serve the request now.
        public static let unavailable = Code(name: "unavailable")
        /// The connection was lost on the way: what was sent may have been accepted.
        public static let interrupted = Code(name: "interrupted")
        /// No response came in time: what was sent may have been accepted.
        public static let timedOut = Code(name: "timed out")
        /// The deadline had passed: nothing was sent.
        public static let expired = Code(name: "expired")
    }

    /// What kind of failure it was.
    public let code: Code
    /// The HTTP status. Nil if no response came.
    public let status: Int?
    /// The service's reason, such as `BadDeviceToken`, or what went wrong. It holds no token and no key.
    public let reason: String
    /// Since when the token is invalid, where the service says so.
    public let since: Date?
    /// How long the service wants to be left alone, where it says so.
    public let retryAfter: Duration?

    /// - Parameters:
    ///   - code: what kind of failure it was.
    ///   - status: the HTTP status; nil if no response came.
    ///   - reason: one line without tokens and keys.
    ///   - since: since when the token is invalid.
    ///   - retryAfter: how long the service wants to be left alone.
    public init(
        _ code: Code, status: Int? = nil, reason: String, since: Date? = nil, retryAfter: Duration? = nil
    ) {
        self.code = code
        self.status = status
        self.reason = reason
        self.since = since
        self.retryAfter = retryAfter
    }

    /// Whether nothing could be sent.
    public var isUnreachable: Bool { code == .unreachable }

    package var fault: OutboundFault {
        switch code {
        case .misconfigured: .configuration
        case .tokenGone, .refused, .expired: .ours
        default: .transient
        }
    }
}

extension PushError {
    /// Whether the same push would fail again: its token is invalid, it is refused, or it is too late.
    public var isPermanent: Bool { fault == .ours }
}

extension PushError: CustomStringConvertible {
    public var description: String { "push: \(code.name): \(said)" }

    private static let settings = [
        "BadDeviceToken": "APNS_SERVER", "DeviceTokenNotForTopic": "APNS_TOPIC",
        "SENDER_ID_MISMATCH": "FCM_SERVICE_ACCOUNT",
    ]

    /// Whether a wrong setting would give the same reason for every token.
    package var isAmbiguous: Bool { code == .tokenGone && Self.settings[reason] != nil }

    /// The error if a setting gives this reason for one token after the other.
    package var misconfiguration: PushError {
        PushError(
            .misconfigured, status: status,
            reason: "\(reason) for several tokens in a row: expected \(Self.settings[reason] ?? "the settings") to fit "
                + "the app that registers them")
    }

    /// Status and reason: `410 Unregistered`.
    package var said: String { [status.map { "\($0)" }, reason].compactMap(\.self).joined(separator: " ") }
}
