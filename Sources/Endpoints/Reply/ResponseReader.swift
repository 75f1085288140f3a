import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// Reads a response, and no more of it than matters. What came is known even if the rest of it doesn't.
final class ResponseReader: HTTPClientResponseDelegate {
    private struct State {
        var isSent = false
        var response: Response?
    }

    private let state = Mutex(State())

    /// Whether the request, or a part of it, was sent.
    var isSent: Bool { state.withLock(\.isSent) }

    /// What was received so far; nil if not even a status.
    var received: Response? { state.withLock(\.response) }

    func didSendRequestHead(task: HTTPClient.Task<Response>, _ head: HTTPRequestHead) {
        state.withLock { $0.isSent = true }
    }

    func didReceiveHead(task: HTTPClient.Task<Response>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        let isTooLarge = state.withLock { state in
            var response = Response(
                status: Int(head.status.code), contentType: head.headers.first(name: "content-type"),
                retryAfter: head.headers.first(name: "retry-after"))
            response.isTruncated = length > response.mostBytes
            state.response = response
            return response.isTruncated
        }
        return next(task, isTooLarge)
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Response>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let isTooLarge = state.withLock { state in
            guard let response = state.response else { return true }
            if response.body.count + buffer.readableBytes > response.mostBytes {
                state.response?.isTruncated = true
                return true
            }
            state.response?.body += buffer.readableBytesView
            return false
        }
        return next(task, isTooLarge)
    }

    func didFinishRequest(task: HTTPClient.Task<Response>) throws -> Response {
        guard let response = received else { throw HTTPClientError.remoteConnectionClosed }
        return response
    }

    /// A failure closes the connection, since the rest is of no use.
    private func next(_ task: HTTPClient.Task<Response>, _ isTooLarge: Bool) -> EventLoopFuture<Void> {
        isTooLarge ? task.eventLoop.makeFailedFuture(ResponseTooLarge()) : task.eventLoop.makeSucceededVoidFuture()
    }
}

/// The server sends more than is read.
struct ResponseTooLarge: Error {}
