import Outbound

/// Who sent a request.
struct Caller: Sendable {
    /// The name that the audit records; nil for somebody who has not logged in.
    var person: String?
    /// The session's id; nil without one.
    var session: String?
    /// What its forms have to send. Nil for a bearer of a token, which no browser sends by itself.
    var formToken: String?
    /// The address of the sender, or the one that a trusted proxy names.
    var address: IPAddress?
    /// Whether the sender is a trusted proxy: its forwarding headers count.
    var isBehindProxy = false
    /// Whether the proxy says that the browser uses HTTPS.
    var isSecure = false

    var isLoggedIn: Bool { person != nil }
}
