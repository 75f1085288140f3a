import AsyncHTTPClient
import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// What an HTTP client's error says about the connection.
package enum ConnectionFailure: Equatable {
    /// Nothing was sent: no address, no route, refused, no TLS, no reply to the connect.
    case unreachable
    /// The connection broke: what was sent may have arrived, and may have been done.
    case lost
    /// Nothing was sent or received for too long.
    case timedOut

    /// Nil if the connection didn't fail.
    package init?(_ error: any Error) {
        switch error {
        case is NIOConnectionError, is SocketAddressError, is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            self = .unreachable
        case let error as HTTPClientError: self.init(error)
        case let error as IOError: self = Self.unreachableNumbers.contains(error.errnoCode) ? .unreachable : .lost
        case let error as ChannelError:
            if case .connectTimeout = error { self = .unreachable } else { self = .lost }
        default: return nil
        }
    }

    private init?(_ error: HTTPClientError) {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout: self = .unreachable
        case .readTimeout, .writeTimeout, .deadlineExceeded: self = .timedOut
        case .remoteConnectionClosed, .uncleanShutdown, .requestStreamCancelled, .bodyLengthMismatch: self = .lost
        default: return nil
        }
    }

    private static let unreachableNumbers: Set = [
        ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, ETIMEDOUT, EADDRNOTAVAIL,
    ]
}
