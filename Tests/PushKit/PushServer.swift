import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A stub of APNs or FCM: a real server with TLS on loopback that responds by script and records requests.
///
/// Like Apple and Google, it accepts only its own tokens. By default it is Apple's: over HTTP/2, with one request at a
/// time until the first one was accepted.
package final class PushServer: Sendable {
    package struct Options: Sendable {
        /// Concurrent requests of a connection before the first accepted one, and after it.
        package var firstStreams = 1
        package var streams = 1000
        /// Closes a connection on which nothing came for this long after its first response.
        package var idle: Duration?

        package init() {}
    }

    /// A request and its status: 200 if it was accepted, whether or not the response has arrived.
    package struct Receipt: Sendable {
        package let request: PushRequest
        package let status: Int
    }

    private struct State {
        var receipts: [Receipt] = []
        var requests = 0
        var connections = 0
        var listener: (any Channel)?
        var open: [Int: any Channel] = [:]
    }

    package static let keyID = "ABC123DEFG"
    package static let team = "TEAM123456"
    package static let topic = "com.example.moments"

    package let port: Int
    let options: Options
    private let apple: AppleDialect
    private let dialect: any PushDialect
    private let script: @Sendable (PushRequest) -> PushResponse
    private let tls: NIOSSLContext
    private let group = MultiThreadedEventLoopGroup.singleton
    private let state = Mutex(State())

    /// Starts to listen on a free port.
    ///
    /// - Parameters:
    ///   - google: makes it Google's; nil is Apple's.
    ///   - options: how it treats connections.
    ///   - script: what it responds to pushes with a valid token.
    package init(
        google: GoogleDialect? = nil, options: Options = Options(),
        _ script: @escaping @Sendable (PushRequest) -> PushResponse = { _ in .accepted }
    ) async throws {
        apple = try AppleDialect()
        dialect = google ?? apple
        self.options = options
        self.script = script
        tls = try PushCertificate.shared.get().serverContext(dialect.protocols)
        let box = Weak()
        let listener = try await Self.bootstrap(group, tls, box).bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
        state.withLock { $0.listener = listener }
        box.set(self)
    }

    deinit {
        let (listener, open) = state.withLock { ($0.listener, Array($0.open.values)) }
        listener?.close(promise: nil)
        for channel in open { channel.close(promise: nil) }
    }

    /// The key's text, as Apple's .p8 file has it.
    package var pem: String { apple.pem }
    /// The file of its certificate's authority.
    package var authorities: String { get throws { try PushCertificate.shared.get().path } }
    /// Its address.
    package var url: String { "https://127.0.0.1:\(port)" }

    /// Every request, in the order of their responses.
    package var receipts: [Receipt] { state.withLock(\.receipts) }
    /// The requests that were accepted.
    package var accepted: [PushRequest] { receipts.filter { $0.status == 200 }.map(\.request) }
    /// The accepted messages of a Google's server, in the order of their responses.
    package var messages: [PushRequest] { accepted.filter { $0.message != nil } }
    /// The number of connections so far.
    package var connections: Int { state.withLock(\.connections) }
    /// The number of open connections.
    package var openConnections: Int { state.withLock(\.open.count) }

    /// Refuses connections from now on, and closes the open ones.
    package func stop() async throws {
        let (listener, open) = state.withLock { state in
            defer { state.listener = nil }
            return (state.listener, Array(state.open.values))
        }
        try await listener?.close()
        for channel in open { try? await channel.close() }
    }

    /// Accepts connections again, on the same port.
    package func start() async throws {
        let box = Weak()
        box.set(self)
        let listener = try await Self.bootstrap(group, tls, box).bind(host: "127.0.0.1", port: port).get()
        state.withLock { $0.listener = listener }
    }

    private static func bootstrap(
        _ group: any EventLoopGroup, _ tls: NIOSSLContext, _ server: Weak
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 512)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let server = server.value else { return }
                    let handlers = channel.pipeline.syncOperations
                    try handlers.addHandler(NIOSSLServerHandler(context: tls))
                    guard server.dialect.protocols == ["h2"] else {
                        try handlers.configureHTTPServerPipeline()
                        try handlers.addHandler(PlainPushConnection(number: server.connected(channel), of: server))
                        return
                    }
                    try handlers.addHandler(
                        NIOHTTP2Handler(
                            mode: .server,
                            initialSettings: [
                                HTTP2Setting(
                                    parameter: .maxConcurrentStreams, value: server.options.firstStreams)
                            ]))
                    try handlers.addHandler(PushConnection(number: server.connected(channel), of: server))
                }
            }
    }

    /// A weak reference to the server.
    private final class Weak: Sendable {
        private struct Reference {
            weak var server: PushServer?
        }
        private let reference = Mutex(Reference())

        var value: PushServer? { reference.withLock { $0.server } }

        func set(_ server: PushServer) { reference.withLock { $0.server = server } }
    }
}

// MARK: - Calls of its connections
extension PushServer {
    func connected(_ channel: any Channel) -> Int {
        state.withLock { state in
            state.connections += 1
            state.open[state.connections] = channel
            return state.connections
        }
    }

    func disconnected(_ connection: Int) { state.withLock { _ = $0.open.removeValue(forKey: connection) } }

    /// Numbers a request. Returns its scripted response.
    func response(headers: [String: String], body: [UInt8], connection: Int) -> (PushRequest, PushResponse) {
        let number = state.withLock { state in
            state.requests += 1
            return state.requests
        }
        let request = PushRequest(number: number, connection: connection, at: Date(), headers: headers, body: body)
        return (request, dialect.response(to: request) ?? script(request))
    }

    /// A response on the wire.
    func reply(_ response: PushResponse, to request: PushRequest) -> PushReply {
        switch response {
        case .status(let status, let reason, let since): dialect.reply(status, reason, since, to: request)
        case .reply(let status, let body, let headers):
            PushReply(status: status, headers: headers.map { ($0.key, $0.value) }, body: body)
        default: dialect.reply(200, nil, nil, to: request)
        }
    }

    func record(_ request: PushRequest, status: Int) {
        state.withLock { $0.receipts.append(Receipt(request: request, status: status)) }
    }
}
