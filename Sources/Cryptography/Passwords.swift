import COpenSSL

/// A function that makes keys of passwords, at a cost in time and memory that is chosen.
package enum Scrypt {
    /// Derives a key from a password. Takes 128 × `rounds` × `blockSize` bytes, which the caller bounds.
    ///
    /// - Parameters:
    ///   - size: the bytes of the key.
    ///   - rounds: a power of two, at least 2.
    ///   - parallelism: how often the rounds are repeated, one after the other.
    /// - Throws: ``CryptographyError`` for numbers that scrypt doesn't allow, and if memory has run out.
    package static func key(
        from password: [UInt8], salt: [UInt8], size: Int, rounds: Int, blockSize: Int, parallelism: Int
    ) throws(CryptographyError) -> [UInt8] {
        guard let n = UInt64(exactly: rounds), let r = UInt64(exactly: blockSize), let p = UInt64(exactly: parallelism),
            size > 0
        else { throw CryptographyError("scrypt: expected numbers above 0") }
        var key = [UInt8](repeating: 0, count: size)
        // Without a maximum OpenSSL refuses more than 32 MB.
        let result = password.withUnsafeBytes { password in
            EVP_PBE_scrypt_ex(
                password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count, salt, salt.count, n, r, p,
                .max, &key, size, Library.shared.context, nil)
        }
        try check(result, "derive a key by scrypt")
        return key
    }
}

extension [UInt8] {
    /// Whether both have the same bytes, in a time that doesn't depend on where they differ. It does depend on lengths.
    package func equalsInConstantTime(_ other: [UInt8]) -> Bool {
        count == other.count && CRYPTO_memcmp(self, other, count) == 0
    }
}
