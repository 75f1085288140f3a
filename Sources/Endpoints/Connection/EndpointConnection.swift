import AsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL
import Outbound
import Synchronization

/// The connections to one address of a host. They close when the last request has completed.
final class EndpointConnection: Sendable {
    private let http: HTTPClient
    private let opened: Opened

    /// How many connections were opened so far.
    var openedCount: Int { opened.count.withLock(\.self) }

    private final class Opened: Sendable {
        let count = Mutex(0)
    }

    /// What its server is called, and how it is reached.
    struct Peer: Hashable, Sendable {
        let isSecure: Bool
        /// What the server's certificate has to be for: a name or an address.
        let host: String
        /// The only one that is connected to.
        let address: IPAddress
    }

    init(to peer: Peer, _ limits: EndpointLimits, trusting authorities: [NIOSSLCertificate]) {
        let opened = Opened()
        self.opened = opened
        var tls = TLSConfiguration.makeClientConfiguration()
        if !authorities.isEmpty { tls.additionalTrustRoots = [.certificates(authorities)] }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(limits.connect)), decompression: .disabled)
        configuration.proxy = nil
        configuration.httpVersion = .http1Only
        // The name is never resolved again. TLS and the header `host` still have it.
        configuration.dnsOverride = [peer.host: peer.address.text]
        configuration.connectionPool.idleTimeout = TimeAmount(limits.idle)
        // As many as jobs run at once, which the slots of queues bound.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = limits.connections
        configuration.connectionPool.retryConnectionEstablishment = false
        // The header `traceparent` has the attempt's trace.
        configuration.tracing.tracer = nil
        configuration.http1_1ConnectionDebugInitializer = { channel in
            opened.count.withLock { $0 += 1 }
            return channel.eventLoop.submit {
                guard try peer.accepts(channel) else { throw UncheckedPeer() }
            }.flatMapError { error in
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(error)
            }
        }
        // All on one loop: where a request and its connection have different ones, AsyncHTTPClient 1.37 hears late that
        // the request is written, and ends the process if a server has responded before and hung up since.
        http = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton.next()), configuration: configuration)
    }

    // A request that waits for its response retains the connection, so nothing is interrupted here.
    deinit { http.shutdown { _ in } }

    /// Sends a request once. The reader has what came, also after an error.
    func send(
        _ request: HTTPClient.Request, to reader: ResponseReader, by deadline: NIODeadline
    ) async throws -> Response {
        let task = http.execute(request: request, delegate: reader, deadline: deadline)
        return try await withTaskCancellationHandler {
            try await task.get()
        } onCancel: {
            task.cancel()
        }
    }
}

extension EndpointConnection.Peer {
    /// Whether a new connection leads to the address that was checked, and to a server of that name. Nothing was sent
    /// yet.
    fileprivate func accepts(_ channel: any Channel) throws -> Bool {
        guard channel.remoteAddress.flatMap({ IPAddress($0) }) == address else { return false }
        // Without a name, NIOSSL has compared the address.
        guard isSecure, IPAddress(host) == nil else { return true }
        return try channel.pipeline.syncOperations.nioSSL_peerCertificate()?.names(host) == true
    }
}

/// A connection led to another server than the one that was checked.
struct UncheckedPeer: Error {}

/// How long calls may take beside an endpoint's own timeout.
package struct EndpointLimits: Sendable {
    /// Until a name has an address.
    package var lookup: Duration = .seconds(10)
    /// Until a connection to one address is open, TLS included.
    package var connect: Duration = .seconds(5)
    /// How long an unused connection stays open. Servers close theirs after 5 s and more: a request that meets that
    /// would be lost.
    package var idle: Duration = .seconds(4)
    /// The most connections to an address.
    package var connections = 10_000

    package init() {}
}
