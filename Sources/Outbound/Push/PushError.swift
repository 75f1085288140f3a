import Foundation

/// Why a push was not accepted.
package struct PushError: OutboundError, Sendable, Hashable {
    /// What kind of failure it was. More may come: compare, and have a default.
    package struct Code: Hashable, Sendable {
        let name: String
        /// The device's token is dead: nothing sent to it ever arrives again.
        package static let tokenGone = Code(name: "token gone")
        /// The service never accepts such a push: our mistake.
        package static let refused = Code(name: "refused")
        /// Key, team, topic or clock are not as they have to be: somebody has to mend that.
        package static let misconfigured = Code(name: "misconfigured")
        /// Nothing can be sent: refused, no route, no address, no TLS, no answer to the connect.
        package static let unreachable = Code(name: "unreachable")
        /// Too many pushes for this one device, for now.
        package static let deviceBusy = Code(name: "too many for one device")
        /// The service asks for fewer provider tokens, for now.
        package static let tooManyTokens = Code(name: "too many provider tokens")
        /// It is there and can't serve us now.
        package static let unavailable = Code(name: "unavailable")
        /// The connection was lost on the way: what was sent may have been accepted.
        package static let interrupted = Code(name: "interrupted")
        /// No answer came in time: what was sent may have been accepted.
        package static let timedOut = Code(name: "timed out")
        /// It is too late: nothing was sent.
        package static let expired = Code(name: "expired")
    }

    package let code: Code
    /// The HTTP status; nil where no answer came.
    package let status: Int?
    /// The service's own word, such as `BadDeviceToken`, or what went wrong. It holds no token and no key.
    package let reason: String
    /// From when on a token was dead, where the service says so.
    package let since: Date?

    package init(_ code: Code, status: Int? = nil, reason: String, since: Date? = nil) {
        self.code = code
        self.status = status
        self.reason = reason
        self.since = since
    }

    package var isUnreachable: Bool { code == .unreachable }

    package var fault: OutboundFault {
        switch code {
        case .misconfigured: .configuration
        case .tokenGone, .refused, .expired: .ours
        default: .transient
        }
    }
}

extension PushError {
    package var description: String { "push: \(code.name): \(said)" }

    /// Status and reason: `410 Unregistered`.
    package var said: String { [status.map { "\($0)" }, reason].compactMap(\.self).joined(separator: " ") }
}
