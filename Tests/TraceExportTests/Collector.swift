import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server that takes the requests of an exporter, and replies as told.
final class Collector: Sendable {
    struct Request: Sendable {
        let path: String
        let headers: [String: String]
        let body: Data
    }

    /// What it returns.
    struct Reply: Sendable {
        var status = 200
        var body = "{}"
        /// How long it waits.
        var delay: TimeAmount = .zero
    }

    private struct State {
        var requests: [Request] = []
        var reply = Reply()
    }

    private let state = Mutex(State())
    private let channel: Mutex<(any Channel)?> = Mutex(nil)
    let port: Int

    init() async throws {
        let box = Box()
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(box))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
        box.collector.withLock { $0 = self }
        channel.withLock { $0 = listener }
    }

    var url: String { "http://127.0.0.1:\(port)" }
    var requests: [Request] { state.withLock(\.requests) }

    func replies(_ reply: Reply) { state.withLock { $0.reply = reply } }

    func stop() async throws { try await channel.withLock { $0 }?.close() }

    /// Waits until it has got this many requests.
    func receives(_ count: Int) async throws -> Bool {
        for _ in 0..<500 {
            if requests.count >= count { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    private func takes(_ request: Request) -> Reply {
        state.withLock { state in
            state.requests.append(request)
            return state.reply
        }
    }

    private final class Box: Sendable { let collector = Mutex<Collector?>(nil) }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let box: Box
        private var head: HTTPRequestHead?
        private var body = Data()

        init(_ box: Box) { self.box = box }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = Data()
            case .body(let bytes): body.append(contentsOf: bytes.readableBytesView)
            case .end:
                let pairs = head?.headers.map { ($0.name.lowercased(), $0.value) } ?? []
                let request = Request(
                    path: head?.uri ?? "", headers: Dictionary(pairs) { first, _ in first }, body: body)
                guard let reply = box.collector.withLock({ $0 })?.takes(request) else { return }
                let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
                context.eventLoop.scheduleTask(in: reply.delay) {
                    let (handler, context) = bound.value
                    handler.write(reply, to: context)
                }
            }
        }

        private func write(_ reply: Reply, to context: ChannelHandlerContext) {
            let head = HTTPResponseHead(
                version: .http1_1, status: .init(statusCode: reply.status),
                headers: ["content-length": "\(reply.body.utf8.count)", "content-type": "application/json"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: reply.body)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
