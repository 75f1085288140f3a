import Foundation
import NIOCore

/// Why the address can't be listened at, for people: `Address already in use`.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String

    /// Nil where the error is of another kind, such as one that ends a listener later.
    init?(_ error: any Error) {
        switch error {
        case let error as IOError: description = String(cString: strerror(error.errnoCode))
        case let error as SocketAddressError: description = "\(error)"
        default: return nil
        }
    }
}
