import NIOSSL
import Synchronization

/// The connections in use, by their servers.
final class EndpointConnections: Sendable {
    private struct Entry {
        let connection: EndpointConnection
        var usedAt: ContinuousClock.Instant
    }

    /// After this an unused entry is dropped, once another one is made.
    private static let life: Duration = .seconds(60)

    private let limits: EndpointLimits
    private let authorities: [NIOSSLCertificate]
    private let entries = Mutex<[EndpointConnection.Peer: Entry]>([:])

    init(_ limits: EndpointLimits, trusting authorities: [NIOSSLCertificate]) {
        self.limits = limits
        self.authorities = authorities
    }

    func connection(to peer: EndpointConnection.Peer, at now: ContinuousClock.Instant) -> EndpointConnection {
        entries.withLock { entries in
            if let found = entries[peer]?.connection {
                entries[peer]?.usedAt = now
                return found
            }
            entries = entries.filter { now - $0.value.usedAt < Self.life }
            let made = EndpointConnection(to: peer, limits, trusting: authorities)
            entries[peer] = Entry(connection: made, usedAt: now)
            return made
        }
    }
}
