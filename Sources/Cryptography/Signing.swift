import COpenSSL

/// A private key. Tasks may sign with it at the same time.
package struct SigningKey: Sendable {
    private let algorithm: SignatureAlgorithm
    private let pair: KeyPair

    /// Generates a key. RSA takes some tenths of a second.
    package init(generating algorithm: SignatureAlgorithm) throws(CryptographyError) {
        self.algorithm = algorithm
        pair = try KeyPair(generating: algorithm)
    }

    /// Reads a private key: PKCS #8, or the older forms of elliptic curves (SEC 1) and RSA (PKCS #1).
    ///
    /// - Throws: ``CryptographyError`` for a text without such a key, a key of another type, curve or size, and a key
    ///   with a passphrase. It shows nothing of the text.
    package init(pem: String, for algorithm: SignatureAlgorithm) throws(CryptographyError) {
        self.algorithm = algorithm
        pair = try KeyPair(privatePEM: pem, for: algorithm)
    }

    /// The key as PKCS #8, without a passphrase.
    package func pem() throws(CryptographyError) -> String { try pair.privatePEM() }

    /// The other half.
    package var verifyingKey: VerifyingKey { VerifyingKey(algorithm: algorithm, pair: pair) }

    /// Signs a message, which is hashed by SHA-256.
    package func signature(of message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        // A context of its own for each signature, so that no thread sees the state of another.
        let context = try made(EVP_MD_CTX_new(), "sign")
        defer { EVP_MD_CTX_free(context) }
        var options: OpaquePointer?
        try check(
            EVP_DigestSignInit_ex(context, &options, "SHA256", Library.shared.context, nil, pair.pointer, nil), "sign")
        if algorithm == .rs256 { try check(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PADDING), "sign") }
        var signature = [UInt8](repeating: 0, count: max(0, Int(EVP_PKEY_get_size(pair.pointer))))
        var count = signature.count
        try check(EVP_DigestSign(context, &signature, &count, message, message.count), "sign")
        signature.removeLast(signature.count - count)
        return algorithm == .es256 ? try ECDSASignature(encoded: signature).raw() : signature
    }
}

extension SigningKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(algorithm.rawValue) key, hidden" }
    package var customMirror: Mirror { Mirror(self, children: ["algorithm": algorithm.rawValue]) }
}

/// A public key.
package struct VerifyingKey: Sendable {
    private let algorithm: SignatureAlgorithm
    private let pair: KeyPair

    fileprivate init(algorithm: SignatureAlgorithm, pair: KeyPair) {
        self.algorithm = algorithm
        self.pair = pair
    }

    /// Reads a public key (`BEGIN PUBLIC KEY`).
    ///
    /// - Throws: ``CryptographyError`` for a text without such a key, and a key of another type, curve or size.
    package init(pem: String, for algorithm: SignatureAlgorithm) throws(CryptographyError) {
        self.algorithm = algorithm
        pair = try KeyPair(publicPEM: pem, for: algorithm)
    }

    package func pem() throws(CryptographyError) -> String { try pair.publicPEM() }

    /// Whether the private half of this key signed this message.
    package func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        // A signature that doesn't match leaves its reasons in the thread's queue.
        defer { ERR_clear_error() }
        guard let encoded = algorithm == .es256 ? try? ECDSASignature(raw: signature)?.encoded() : signature,
            let context = EVP_MD_CTX_new()
        else { return false }
        defer { EVP_MD_CTX_free(context) }
        var options: OpaquePointer?
        return EVP_DigestVerifyInit_ex(context, &options, "SHA256", Library.shared.context, nil, pair.pointer, nil) == 1
            && (algorithm == .es256 || EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PADDING) == 1)
            && EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
    }
}

/// The two numbers of a signature. OpenSSL has them in DER, and JSON Web Tokens as 32 bytes each.
private final class ECDSASignature {
    private let pointer: OpaquePointer

    /// Reads DER.
    init(encoded: [UInt8]) throws(CryptographyError) {
        let read = encoded.withUnsafeBufferPointer { encoded -> OpaquePointer? in
            var next = encoded.baseAddress
            return d2i_ECDSA_SIG(nil, &next, encoded.count)
        }
        pointer = try made(read, "read a signature")
    }

    /// Reads 64 bytes. Nil for any other number of them.
    init?(raw: [UInt8]) throws(CryptographyError) {
        guard raw.count == 64 else { return nil }
        let signature = try made(ECDSA_SIG_new(), "read a signature")
        let (r, s) = (BN_bin2bn(Array(raw.prefix(32)), 32, nil), BN_bin2bn(Array(raw.suffix(32)), 32, nil))
        // If this succeeds, the signature owns both numbers.
        guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            ECDSA_SIG_free(signature)
            throw CryptographyError("OpenSSL: can't read a signature")
        }
        pointer = signature
    }

    deinit { ECDSA_SIG_free(pointer) }

    /// 64 bytes.
    func raw() throws(CryptographyError) -> [UInt8] {
        var (r, s) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
        guard BN_bn2binpad(ECDSA_SIG_get0_r(pointer), &r, 32) == 32,
            BN_bn2binpad(ECDSA_SIG_get0_s(pointer), &s, 32) == 32
        else { throw CryptographyError("OpenSSL: can't write a signature") }
        return r + s
    }

    /// DER.
    func encoded() throws(CryptographyError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(0, Int(i2d_ECDSA_SIG(pointer, nil))))
        let count = bytes.withUnsafeMutableBufferPointer { bytes in
            // OpenSSL moves the pointer behind what it has written.
            var next = bytes.baseAddress
            return bytes.isEmpty ? 0 : i2d_ECDSA_SIG(pointer, &next)
        }
        guard count > 0, Int(count) == bytes.count else {
            throw CryptographyError("OpenSSL: can't write a signature")
        }
        return bytes
    }
}
