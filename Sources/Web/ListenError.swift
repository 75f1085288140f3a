import Foundation
import NIOCore
import NIOPosix

/// Why the process can't listen at the address: `Address already in use`.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String

    /// Nil if the error is of another kind, such as one that ends a listener later.
    init?(_ error: any Error) {
        switch error {
        case let error as IOError: description = String(cString: strerror(error.errnoCode))
        case let error as SocketAddressError: description = "\(error)"
        default: return nil
        }
    }
}

extension Web.Address {
    /// Listens at the address for a moment.
    ///
    /// - Throws: ``ListenError`` if it can't.
    package func tryListening() async throws {
        do {
            let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: host, port: port).get()
            try await listener.close()
        } catch {
            throw ListenError(error) ?? error
        }
    }
}
