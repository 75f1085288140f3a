import COpenSSL

/// How a key signs, by its name in JSON Web Tokens.
package enum SignatureAlgorithm: String, Sendable {
    /// ECDSA by the curve P-256 and SHA-256. A signature is 64 bytes: r and s.
    case es256 = "ES256"
    /// RSA by PKCS #1 v1.5 and SHA-256, with a key of 2048 bits or more.
    case rs256 = "RS256"

    /// What a PEM has to be.
    var key: String {
        switch self {
        case .es256: "key of the curve P-256"
        case .rs256: "RSA key of 2048 bits or more"
        }
    }

    /// Whether a key is for this algorithm.
    func accepts(_ key: OpaquePointer) -> Bool {
        switch self {
        case .es256:
            var name = [CChar](repeating: 0, count: 64)
            return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1
                && name.prefix { $0 != 0 }.elementsEqual("prime256v1".utf8.map(CChar.init))
        // A key that is for RSA-PSS only has another type.
        case .rs256: return EVP_PKEY_is_a(key, "RSA") == 1 && EVP_PKEY_get_bits(key) >= 2048
        }
    }
}

/// A key of OpenSSL: both halves, or the public one. It owns the object, and never shows what is in it.
final class KeyPair: Sendable {
    // It never changes, and OpenSSL lets threads share it as long as each signature has a context of its own.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes ownership of the object.
    private init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// Generates a key.
    convenience init(generating algorithm: SignatureAlgorithm) throws(CryptographyError) {
        let type = algorithm == .es256 ? "EC" : "RSA"
        let context = try made(EVP_PKEY_CTX_new_from_name(Library.shared.context, type, nil), "generate a key")
        defer { EVP_PKEY_CTX_free(context) }
        try check(EVP_PKEY_keygen_init(context), "generate a key")
        switch algorithm {
        case .es256: try check(EVP_PKEY_CTX_set_group_name(context, "P-256"), "set the curve of a key")
        case .rs256: try check(EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048), "set the size of a key")
        }
        var key: OpaquePointer?
        try check(EVP_PKEY_generate(context, &key), "generate a key")
        self.init(owning: try made(key, "generate a key"))
    }

    /// Reads the first private key of a PEM, if `algorithm` takes it and its halves belong together.
    convenience init(privatePEM: String, for algorithm: SignatureAlgorithm) throws(CryptographyError) {
        try self.init(pem: privatePEM, for: algorithm, "private \(algorithm.key)") { input in
            PEM_read_bio_PrivateKey_ex(input, nil, Self.noPassphrase, nil, Library.shared.context, nil)
        }
        let context = try made(EVP_PKEY_CTX_new_from_pkey(Library.shared.context, pointer, nil), "check a key")
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_check(context) == 1 else { throw CryptographyError("expected a key without errors in it") }
    }

    /// Reads the first public key of a PEM, if `algorithm` takes it.
    convenience init(publicPEM: String, for algorithm: SignatureAlgorithm) throws(CryptographyError) {
        try self.init(pem: publicPEM, for: algorithm, "public \(algorithm.key)") { input in
            PEM_read_bio_PUBKEY_ex(input, nil, Self.noPassphrase, nil, Library.shared.context, nil)
        }
    }

    private convenience init(
        pem: String, for algorithm: SignatureAlgorithm, _ expected: String, read: (OpaquePointer) -> OpaquePointer?
    ) throws(CryptographyError) {
        let refusal = "expected a \(expected) as PEM, without a passphrase"
        let bytes = Array(pem.utf8)
        guard let count = Int32(exactly: bytes.count) else { throw CryptographyError(refusal) }
        // OpenSSL reads the array itself, so it has to outlive the reading.
        let key = bytes.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let input = BIO_new_mem_buf(bytes.baseAddress, count) else { return nil }
            defer { BIO_free(input) }
            return read(input)
        }
        guard let key else { throw CryptographyError(refusal) }
        self.init(owning: key)
        guard algorithm.accepts(key) else { throw CryptographyError(refusal) }
    }

    /// Refuses a key with a passphrase. Without a callback OpenSSL asks for it on the terminal.
    private static let noPassphrase:
        @convention(c) (
            UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?
        ) -> Int32 = { _, _, _, _ in -1 }
}

// MARK: - As PEM
extension KeyPair {
    /// PKCS #8.
    func privatePEM() throws(CryptographyError) -> String {
        try Self.written { output in PEM_write_bio_PKCS8PrivateKey(output, pointer, nil, nil, 0, nil, nil) }
    }

    /// The public half alone.
    func publicPEM() throws(CryptographyError) -> String {
        try Self.written { output in PEM_write_bio_PUBKEY(output, pointer) }
    }

    private static func written(_ write: (OpaquePointer) -> Int32) throws(CryptographyError) -> String {
        let output = try made(BIO_new(BIO_s_mem()), "write a key")
        defer { BIO_free(output) }
        try check(write(output), "write a key")
        var text = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
        var count = 0
        try check(BIO_read_ex(output, &text, text.count, &count), "write a key")
        return String(decoding: text.prefix(count), as: UTF8.self)
    }
}
