/// A failure of a service outside of the database, classified by who must act.
package protocol OutboundError: Error, CustomStringConvertible {
    var fault: OutboundFault { get }
    /// Whether nothing could be sent: refused, no route, no address, no TLS, no response to the connect.
    var isUnreachable: Bool { get }
}

/// Who must act on a failure: the service (retry), the operator (fix the configuration) or the caller (give up).
package enum OutboundFault: Sendable, Hashable {
    /// The service: the same call may succeed later.
    case transient
    /// The operator: no call succeeds until settings, keys, rights or clock are fixed.
    case configuration
    /// The caller: the same call would fail again.
    case ours
}
