import COpenSSL

/// SHA-256: 32 bytes. An instance hashes what comes in pieces.
///
/// It has one owner, as the state of OpenSSL behind it, and is used up by ``finalize()``.
package struct SHA256: ~Copyable, Sendable {
    private static let function = HashFunction("SHA256")
    private let state = HashState(Self.function)

    package init() {}

    /// The hash of these bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }

    package mutating func update(_ bytes: [UInt8]) { state.update(bytes) }

    /// The hash of all pieces.
    package consuming func finalize() -> [UInt8] { state.finalize() }
}

/// MD5: 16 bytes. A checksum that servers ask for; it protects from nobody.
package struct MD5: ~Copyable, Sendable {
    private static let function = HashFunction("MD5")
    private let state = HashState(Self.function)

    package init() {}

    /// The hash of these bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = MD5()
        hash.update(bytes)
        return hash.finalize()
    }

    package mutating func update(_ bytes: [UInt8]) { state.update(bytes) }

    /// The hash of all pieces.
    package consuming func finalize() -> [UInt8] { state.finalize() }
}

/// Codes that only the owner of a key can make.
package enum HMAC {
    /// The HMAC of a message by SHA-256: 32 bytes.
    package static func sha256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var count = 0
        let written = EVP_Q_mac(
            Library.shared.context, "HMAC", nil, "SHA256", nil, key, key.count, message, message.count, &code,
            code.count, &count)
        // Only without memory: the default provider has both algorithms, and takes any key and message.
        guard written != nil, count == code.count else { fatalError("OpenSSL: can't make an HMAC") }
        return code
    }
}

/// A hash function. Fetched once for the process and never freed, as its context.
private final class HashFunction: Sendable {
    // Never changes, so threads may share it.
    nonisolated(unsafe) let pointer: OpaquePointer
    /// The bytes of a hash.
    let size: Int

    init(_ name: String) {
        guard let pointer = EVP_MD_fetch(Library.shared.context, name, nil), EVP_MD_get_size(pointer) > 0 else {
            // The names are those of this file, and OpenSSL's default provider has both.
            fatalError("OpenSSL: it has no \(name)")
        }
        self.pointer = pointer
        size = Int(EVP_MD_get_size(pointer))
    }
}

/// The state of one hash. Its calls fail only if memory has run out, so a failure ends the process.
///
/// A class, though it has one owner: release builds of Swift 6.3 crash where another module frees a struct's pointer.
private final class HashState: Sendable {
    private let function: HashFunction
    // Used by one thread at a time: its owner can't be copied, and calls it from mutating functions alone.
    private nonisolated(unsafe) let context: OpaquePointer

    init(_ function: HashFunction) {
        // Only without memory.
        guard let context = EVP_MD_CTX_new() else { fatalError("OpenSSL: no memory for a hash") }
        self.function = function
        self.context = context
        // Only without memory: the function was fetched.
        guard EVP_DigestInit_ex(context, function.pointer, nil) == 1 else { fatalError("OpenSSL: can't begin a hash") }
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: [UInt8]) {
        guard EVP_DigestUpdate(context, bytes, bytes.count) == 1 else { fatalError("OpenSSL: can't hash") }
    }

    func finalize() -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: function.size)
        guard EVP_DigestFinal_ex(context, &hash, nil) == 1 else { fatalError("OpenSSL: can't end a hash") }
        return hash
    }
}
