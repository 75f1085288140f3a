import Endpoints
import Errand
import NIOCore
import NIOHTTP1
import NIOPosix

/// A server that replies 200 to each job at once, and the worker's part that posts to it.
struct EndpointStub {
    private static let secret = "stub=whsec_c3R1YiBzdHViIHN0dWIgc3R1YiBzdHVi"

    let caller: any EndpointCaller

    /// Has the database's workers post the jobs of a kind to a new stub, which listens until the process ends.
    init(for kind: JobKind, on database: Database, _ onRequest: @escaping @Sendable () -> Void) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 512)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(Handler(onRequest))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        _ = try await database.query(
            Statement(
                "select errand.put_endpoint('stub', $1, secret_name => 'stub', allows_private => true)",
                ["http://127.0.0.1:\(listener.localAddress?.port ?? 0)/"]))
        _ = try await database.query(Statement("select errand.put_http_handler($1, 'stub')", [kind.rawValue]))
        caller = HTTPEndpointCaller(.init(secrets: SecretSource(try EndpointSecrets(Self.secret))))
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let onRequest: @Sendable () -> Void

        init(_ onRequest: @escaping @Sendable () -> Void) { self.onRequest = onRequest }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            onRequest()
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
