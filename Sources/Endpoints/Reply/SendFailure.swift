import AsyncHTTPClient
import Errand
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Outbound

/// Why a request has no whole response, and what follows for the job.
enum SendFailure: Equatable {
    /// A status came, and no more of the response is needed.
    case received(Response)
    /// Nothing was sent.
    case unreachable(String)
    /// The connection broke. The server may have done the job.
    case lost
    case timedOut
    /// What came is no HTTP.
    case malformed

    /// - Parameters:
    ///   - isSent: whether the request, or a part of it, was sent.
    ///   - received: what came before the failure.
    init(_ error: any Error, isSent: Bool, received: Response?) {
        if let received, !received.hasOutput || received.isTruncated {
            // The rest of an error's text isn't needed.
            self = .received(received)
            return
        }
        // The connection has ended in the middle of a response.
        if let error = error as? HTTPParserError, error == .invalidEOFState {
            self = .lost
            return
        }
        switch ConnectionFailure(error) {
        case .timedOut: self = isSent ? .timedOut : .unreachable("no connection in time")
        case .unreachable, .lost: self = isSent ? .lost : .unreachable(Self.words(error))
        case nil: self = isSent ? .malformed : .unreachable(Self.words(error))
        }
    }

    /// Fixed words: the text of an error may have the URL.
    private static func words(_ error: any Error) -> String {
        let inner = (error as? NIOConnectionError)?.connectionErrors.first?.error ?? error
        return switch inner {
        case let error as IOError: String(cString: strerror(error.errnoCode)).lowercased()
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is UncheckedPeer: "no TLS with its host"
        case let error as HTTPClientError where error == .connectTimeout: "none in time"
        default: "\(type(of: inner))"
        }
    }

    func reply(at now: Date) -> EndpointReply {
        switch self {
        case .received(let response): response.reply(at: now)
        case .unreachable(let words): .unavailable(reason: "no connection to it: \(words)")
        case .lost: .failed(reason: "the connection was lost before its response", cause: "connection lost")
        case .timedOut: .failed(reason: "no whole response in time", cause: "timed out")
        case .malformed: .failed(reason: "expected a response by HTTP, got something else", cause: "malformed response")
        }
    }
}
