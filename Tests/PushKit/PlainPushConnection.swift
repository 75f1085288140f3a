import NIOCore
import NIOHTTP1

/// One connection of the stub by HTTP/1.1. It can close, and not respond; resets and GOAWAY close it.
final class PlainPushConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let number: Int
    private let server: PushServer
    private var headers: [String: String] = [:]
    private var body: [UInt8] = []

    init(number: Int, of server: PushServer) {
        self.number = number
        self.server = server
    }

    func channelInactive(context: ChannelHandlerContext) {
        server.disconnected(number)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            headers = [":path": head.uri, ":method": head.method.rawValue]
            for header in head.headers { headers[header.name.lowercased()] = header.value }
            body = []
        case .body(let bytes): body += bytes.readableBytesView
        case .end:
            let (request, response) = server.response(headers: headers, body: body, connection: number)
            carryOut(response, of: request, context)
        }
    }

    private func carryOut(_ response: PushResponse, of request: PushRequest, _ context: ChannelHandlerContext) {
        switch response {
        case .accepted, .status, .reply: reply(server.reply(response, to: request), to: request, context)
        case .after(let pause, let later):
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: .nanoseconds(Int64(pause / .nanoseconds(1)))) {
                let (connection, context) = bound.value
                guard context.channel.isActive else { return }
                connection.carryOut(later, of: request, context)
            }
        case .when(let decide): carryOut(decide() ?? .after(.milliseconds(2), response), of: request, context)
        case .reset(let accepting), .close(let accepting):
            server.record(request, status: accepting ? 200 : 0)
            context.close(promise: nil)
        case .goAway:
            server.record(request, status: 0)
            context.close(promise: nil)
        case .silence: server.record(request, status: 0)
        }
    }

    private func reply(_ reply: PushReply, to request: PushRequest, _ context: ChannelHandlerContext) {
        server.record(request, status: reply.status)
        let body = ByteBuffer(string: reply.body ?? "")
        var headers = HTTPHeaders(reply.headers)
        headers.add(name: "content-length", value: "\(body.readableBytes)")
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: reply.status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
