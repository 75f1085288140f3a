import COpenSSL

/// AES-256 in Galois/Counter Mode: nobody without the key reads a message, or changes it without being noticed.
package struct AuthenticatedCipher: Sendable {
    /// The bytes of a key.
    package static let keySize = 32
    /// The bytes of a nonce.
    package static let nonceSize = 12
    /// The bytes that a sealed message has more than the message: its tag.
    package static let tagSize = 16

    private static let cipher = Cipher()
    private let key: [UInt8]

    /// Nil for a key of another size.
    package init?(key: [UInt8]) {
        guard key.count == Self.keySize else { return nil }
        self.key = key
    }

    /// Encrypts a message, with a random nonce. A key serves for 2^32 messages.
    ///
    /// - Parameter context: what the message belongs to. It isn't in the result, and ``open(_:nonce:context:)`` needs
    ///   the same.
    /// - Returns: the nonce, and the encrypted message with its tag behind it.
    package func seal(
        _ message: [UInt8], context: [UInt8]
    ) throws(CryptographyError) -> (nonce: [UInt8], sealed: [UInt8]) {
        var nonce = [UInt8](repeating: 0, count: Self.nonceSize)
        try check(RAND_bytes_ex(Library.shared.context, &nonce, nonce.count, 0), "draw random bytes")
        return (nonce, try seal(message, nonce: nonce, context: context))
    }

    /// The same with a nonce that was used for no other message under this key; for tests.
    package func seal(_ message: [UInt8], nonce: [UInt8], context: [UInt8]) throws(CryptographyError) -> [UInt8] {
        let state = try begin(nonce: nonce, encrypts: 1)
        defer { EVP_CIPHER_CTX_free(state) }
        var sealed = [UInt8](repeating: 0, count: message.count + Self.tagSize)
        try update(state, with: context, into: nil)
        try update(state, with: message, into: &sealed)
        var (rest, count) = ([UInt8](repeating: 0, count: Self.tagSize), Int32(0))
        try check(EVP_CipherFinal_ex(state, &rest, &count), "encrypt")
        try check(EVP_CIPHER_CTX_ctrl(state, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagSize), &rest), "encrypt")
        sealed.replaceSubrange(message.count..., with: rest)
        return sealed
    }

    /// Decrypts what ``seal(_:context:)`` has returned; nil if the key, the nonce, the context or the text is another.
    package func open(_ sealed: [UInt8], nonce: [UInt8], context: [UInt8]) throws(CryptographyError) -> [UInt8]? {
        guard sealed.count >= Self.tagSize, nonce.count == Self.nonceSize else { return nil }
        let state = try begin(nonce: nonce, encrypts: 0)
        defer { EVP_CIPHER_CTX_free(state) }
        let text = Array(sealed.dropLast(Self.tagSize))
        var tag = Array(sealed.suffix(Self.tagSize))
        // One byte more, since an array without bytes has no address.
        var message = [UInt8](repeating: 0, count: text.count + 1)
        try update(state, with: context, into: nil)
        try update(state, with: text, into: &message)
        try check(EVP_CIPHER_CTX_ctrl(state, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagSize), &tag), "decrypt")
        var (rest, count) = ([UInt8](repeating: 0, count: Self.tagSize), Int32(0))
        guard EVP_CipherFinal_ex(state, &rest, &count) == 1 else {
            ERR_clear_error()
            return nil
        }
        message.removeLast()
        return message
    }

    private func begin(nonce: [UInt8], encrypts: Int32) throws(CryptographyError) -> OpaquePointer {
        let state = try made(EVP_CIPHER_CTX_new(), "encrypt")
        guard EVP_CipherInit_ex2(state, Self.cipher.pointer, key, nonce, encrypts, nil) == 1 else {
            EVP_CIPHER_CTX_free(state)
            throw CryptographyError("OpenSSL: can't begin to encrypt or decrypt")
        }
        return state
    }

    private func update(
        _ state: OpaquePointer, with bytes: [UInt8], into output: UnsafeMutablePointer<UInt8>?
    ) throws(CryptographyError) {
        guard let size = Int32(exactly: bytes.count) else { throw CryptographyError("expected less than 2 GB") }
        guard size > 0 else { return }
        var count = Int32(0)
        try check(EVP_CipherUpdate(state, output, &count, bytes, size), "encrypt or decrypt")
    }
}

extension AuthenticatedCipher: CustomStringConvertible, CustomReflectable {
    package var description: String { "key, hidden" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The algorithm, fetched once for the process and never freed, as its context.
private final class Cipher: Sendable {
    // Never changes, so threads may share it.
    nonisolated(unsafe) let pointer: OpaquePointer

    init() {
        guard let pointer = EVP_CIPHER_fetch(Library.shared.context, "AES-256-GCM", nil) else {
            // OpenSSL's default provider has it.
            fatalError("OpenSSL: it has no AES-256-GCM")
        }
        self.pointer = pointer
    }
}
