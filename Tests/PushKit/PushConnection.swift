import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One connection of the stub, frame by frame, so that a script can close it, reset a stream, or not respond.
final class PushConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private struct Stream {
        var headers: [String: String] = [:]
        var body: [UInt8] = []
    }

    private let number: Int
    private let server: PushServer
    private var streams: [HTTP2StreamID: Stream] = [:]
    private var lastStream = HTTP2StreamID.rootStream
    private var hasAccepted = false
    /// Later requests are not read.
    private var isGoing = false
    private var idle: Scheduled<Void>?

    init(number: Int, of server: PushServer) {
        self.number = number
        self.server = server
    }

    func channelInactive(context: ChannelHandlerContext) {
        idle?.cancel()
        server.disconnected(number)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        if hasAccepted { watchIdleness(context) }
        switch frame.payload {
        case .headers(let headers):
            var stream = Stream()
            for (name, value, _) in headers.headers { stream.headers[name] = value }
            streams[frame.streamID] = stream
            lastStream = max(lastStream, frame.streamID)
            if headers.endStream { response(frame.streamID, context) }
        case .data(let data):
            guard case .byteBuffer(let bytes) = data.data else { return }
            streams[frame.streamID]?.body += bytes.readableBytesView
            if bytes.readableBytes > 0 {
                send(.rootStream, .windowUpdate(windowSizeIncrement: bytes.readableBytes), context)
            }
            if data.endStream { response(frame.streamID, context) }
        case .rstStream: streams[frame.streamID] = nil
        default: break
        }
    }

    private func response(_ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
        guard let stream = streams.removeValue(forKey: id), !isGoing else { return }
        let (request, response) = server.response(headers: stream.headers, body: stream.body, connection: number)
        carryOut(response, of: request, on: id, context)
    }

    private func carryOut(
        _ response: PushResponse, of request: PushRequest, on id: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        switch response {
        case .accepted, .status, .reply: reply(server.reply(response, to: request), to: request, on: id, context)
        case .after(let pause, let later):
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: .nanoseconds(Int64(pause / .nanoseconds(1)))) {
                let (connection, context) = bound.value
                guard context.channel.isActive else { return }
                connection.carryOut(later, of: request, on: id, context)
            }
        case .when(let decide):
            carryOut(decide() ?? .after(.milliseconds(2), response), of: request, on: id, context)
        case .goAway:
            server.record(request, status: 0)
            isGoing = true
            let before = HTTP2StreamID(max(0, Int(id) - 2))
            send(.rootStream, .goAway(lastStreamID: before, errorCode: .noError, opaqueData: nil), context)
            // Earlier requests get their response within this time.
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.eventLoop.scheduleTask(in: .milliseconds(200)) { bound.value.close(promise: nil) }
        case .reset(let accepting):
            server.record(request, status: accepting ? 200 : 0)
            send(id, .rstStream(accepting ? .internalError : .refusedStream), context)
        case .close(let accepting):
            server.record(request, status: accepting ? 200 : 0)
            context.close(promise: nil)
        case .silence: server.record(request, status: 0)
        }
    }

    private func reply(
        _ reply: PushReply, to request: PushRequest, on id: HTTP2StreamID, _ context: ChannelHandlerContext
    ) {
        server.record(request, status: reply.status)
        if reply.status == 200, !hasAccepted {
            hasAccepted = true
            // Before the response: async-http-client 1.37 sets a second timer for a connection that is idle when it
            // hears of more streams, and stops at that in debug builds.
            let more = HTTP2Setting(parameter: .maxConcurrentStreams, value: server.options.streams)
            send(.rootStream, .settings(.settings([more])), context)
        }
        var headers: HPACKHeaders = [":status": "\(reply.status)"]
        for header in reply.headers { headers.add(name: header.name, value: header.value) }
        send(id, .headers(.init(headers: headers, endStream: reply.body == nil)), context)
        if let body = reply.body {
            send(id, .data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)), context)
        }
        watchIdleness(context)
    }

    private func send(_ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
    }

    /// Counts from the first response on: on a busy machine, a request may come long after its connection.
    private func watchIdleness(_ context: ChannelHandlerContext) {
        guard let span = server.options.idle else { return }
        idle?.cancel()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        idle = context.eventLoop.scheduleTask(in: .nanoseconds(Int64(span / .nanoseconds(1)))) {
            let (connection, context) = bound.value
            let last = connection.lastStream
            connection.send(.rootStream, .goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil), context)
            context.close(promise: nil)
        }
    }
}
