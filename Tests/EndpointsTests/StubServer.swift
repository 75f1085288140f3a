import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A server of endpoints on loopback, which does what a script says: also what no good server does.
final class StubServer: Sendable {
    struct Request: Sendable {
        let path: String
        let headers: HTTPHeaders
        let body: [UInt8]
        /// Counted from 1.
        let number: Int
        let connection: Int
    }

    enum Step: Sendable {
        case send(String)
        case delay(Duration)
        /// Repeats a text for as long as the client reads it.
        case flood(String)
        /// Repeats a text every few milliseconds.
        case drip(String)
        case close
    }

    fileprivate struct State {
        var requests: [Request] = []
        var connections = 0
        var open = 0
    }

    let port: Int
    private let listener: any Channel
    private let state: Pass

    /// What outlives the initializer's use of it.
    fileprivate final class Pass: Sendable {
        let state = Mutex(State())
    }

    var requests: [Request] { state.state.withLock(\.requests) }
    var connections: Int { state.state.withLock(\.connections) }
    var openConnections: Int { state.state.withLock(\.open) }
    var url: String { "http://127.0.0.1:\(port)/jobs" }

    /// - Parameters:
    ///   - port: 0 is a free one.
    ///   - tls: nil is plain HTTP.
    ///   - readsBody: whether it responds after the whole request; otherwise it does once it has the head, and hangs up
    ///     at the end.
    init(
        on host: String = "127.0.0.1", port: Int = 0, tls: NIOSSLContext? = nil, readsBody: Bool = true,
        _ script: @escaping @Sendable (Request) -> [Step] = { _ in [.send(StubServer.response())] }
    ) async throws {
        let state = Pass()
        self.state = state
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 512)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handlers = channel.pipeline.syncOperations
                    if let tls { try handlers.addHandler(NIOSSLServerHandler(context: tls)) }
                    try handlers.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
                    try handlers.addHandler(Connection(state, script, readsBody: readsBody))
                }
            }
            .bind(host: host, port: port).get()
        self.port = listener.localAddress?.port ?? 0
    }

    /// Refuses connections from now on.
    func stop() async throws { try await listener.close() }

    deinit { listener.close(promise: nil) }

    /// A whole response.
    static func response(_ status: Int = 200, _ body: String = "", _ headers: [String] = []) -> String {
        let lines = ["HTTP/1.1 \(status) Some", "content-length: \(body.utf8.count)"] + headers
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    /// A whole response whose body is JSON.
    static func json(_ body: String, _ status: Int = 200) -> String {
        response(status, body, ["content-type: application/json"])
    }

    private final class Connection: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart

        private let server: Pass
        private let script: @Sendable (Request) -> [Step]
        private let readsBody: Bool
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []
        private var number = 0

        init(_ server: Pass, _ script: @escaping @Sendable (Request) -> [Step], readsBody: Bool) {
            self.server = server
            self.script = script
            self.readsBody = readsBody
        }

        func channelActive(context: ChannelHandlerContext) {
            number = server.state.withLock { state in
                state.connections += 1
                state.open += 1
                return state.connections
            }
            context.fireChannelActive()
        }

        func channelInactive(context: ChannelHandlerContext) {
            server.state.withLock { $0.open -= 1 }
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                (self.head, body) = (head, [])
                if !readsBody { respond(on: context.channel) }
            case .body(let bytes): body += bytes.readableBytesView
            case .end: if readsBody { respond(on: context.channel) } else { context.close(promise: nil) }
            }
        }

        private func respond(on channel: any Channel) {
            guard let head else { return }
            let request = server.state.withLock { state in
                let request = Request(
                    path: head.uri, headers: head.headers, body: body, number: state.requests.count + 1,
                    connection: number)
                state.requests.append(request)
                return request
            }
            Self.carryOut(script(request)[...], on: channel)
        }

        private static func carryOut(_ steps: ArraySlice<Step>, on channel: any Channel) {
            guard let step = steps.first, channel.isActive else { return }
            let rest = steps.dropFirst()
            switch step {
            case .send(let text):
                channel.writeAndFlush(ByteBuffer(string: text)).whenSuccess {
                    // Not at once, so that a flood needs no deep stack.
                    channel.eventLoop.execute { carryOut(rest, on: channel) }
                }
            case .delay(let span):
                channel.eventLoop.scheduleTask(in: TimeAmount(span)) { carryOut(rest, on: channel) }
            case .flood(let text): carryOut([.send(text), step], on: channel)
            case .drip(let text): carryOut([.send(text), .delay(.milliseconds(5)), step], on: channel)
            case .close: channel.close(promise: nil)
            }
        }
    }
}
