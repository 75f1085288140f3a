/// What went wrong between us and a service outside of the database, told apart by what is of use then.
package protocol OutboundError: Error, CustomStringConvertible {
    var fault: OutboundFault { get }
    /// Whether nothing could be sent: refused, no route, no address, no TLS, no answer to the connect.
    var isUnreachable: Bool { get }
}

/// Whose matter a failure is, and so what is of use.
package enum OutboundFault: Sendable, Hashable {
    /// The service's, for a while: the same call may succeed later.
    case transient
    /// The operator's: no call will succeed until somebody has mended settings, keys, rights or clock.
    case configuration
    /// That of this one call: the same would fail again.
    case ours
}
