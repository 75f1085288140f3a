import COpenSSL

/// OpenSSL as this module uses it: one context for the process, with the algorithms of OpenSSL's own provider.
///
/// Not the default context: that one follows the host's `openssl.cnf`, which may leave out MD5 or scrypt.
final class Library: Sendable {
    static let shared = Library()

    // Contexts are thread-safe. This one is never freed, since other threads may use it while the process exits.
    nonisolated(unsafe) let context: OpaquePointer

    private init() {
        guard let context = OSSL_LIB_CTX_new(), OSSL_PROVIDER_load(context, "default") != nil else {
            fatalError("OpenSSL: its default provider can't be loaded")
        }
        self.context = context
    }
}

/// A call of OpenSSL that failed. Its description says what was expected, and shows nothing of keys and passwords.
package struct CryptographyError: Error, Sendable, CustomStringConvertible {
    package let description: String

    /// Takes OpenSSL's own reasons off the thread's queue: others would take them for reasons of theirs.
    init(_ description: String) {
        ERR_clear_error()
        self.description = description
    }
}

/// Throws if a call of OpenSSL didn't return 1.
///
/// - Parameter what: what the call was to do.
func check(_ result: Int32, _ what: String) throws(CryptographyError) {
    guard result == 1 else { throw CryptographyError("OpenSSL: can't \(what)") }
}

/// Returns the object that a call of OpenSSL has made. Throws if there is none.
///
/// - Parameter what: what the call was to do.
func made(_ object: OpaquePointer?, _ what: String) throws(CryptographyError) -> OpaquePointer {
    guard let object else { throw CryptographyError("OpenSSL: can't \(what)") }
    return object
}
