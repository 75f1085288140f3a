import NIOCore
import NIOHTTP1

/// Refuses what HTTP/1.1 forbids and swift-nio lets through, with 400: a request without a `Host` or with several, and
/// one whose end is unknown since its transfer coding is.
final class RequestCheck: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var hasRefused = false

    /// Adds it behind the decoder, because later handlers don't learn the version.
    static func add(to pipeline: ChannelPipeline) {
        let pipeline = pipeline.syncOperations
        guard let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else { return }
        try? pipeline.addHandler(RequestCheck(), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data), !Self.accepts(head) {
            hasRefused = true
            context.fireErrorCaught(HTTPParserError.unknown)
        }
        if !hasRefused { context.fireChannelRead(data) }
    }

    static func accepts(_ head: HTTPRequestHead) -> Bool {
        let hosts = head.headers["host"].count
        let codings = head.headers[canonicalForm: "transfer-encoding"].map { $0.lowercased() }
        return (hosts == 1 || hosts == 0 && head.version == .http1_0) && (codings.isEmpty || codings == ["chunked"])
    }
}
