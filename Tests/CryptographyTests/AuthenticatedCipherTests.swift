import Cryptography
import Testing

@Suite("Authenticated encryption") struct AuthenticatedCipherTests {
    private static let key = Array(repeating: UInt8(7), count: 32)

    @Test(
        "a text is that of the examples of GCM's authors",
        arguments: [
            (
                "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
                    + "b16aedf5aa0de657ba637b39",
                "feedfacedeadbeeffeedfacedeadbeefabaddad2",
                "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
                    + "c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b"
            ),
            (
                String(repeating: "0", count: 64), String(repeating: "0", count: 24), "", "",
                "530f8afbc74536b9a963b4f1c4cb738b"
            ),
        ])
    func examples(key: String, nonce: String, message: String, context: String, sealed: String) throws {
        let cipher = try #require(AuthenticatedCipher(key: bytes(key)))
        let made = try cipher.seal(bytes(message), nonce: bytes(nonce), context: bytes(context))
        #expect(made == bytes(sealed))
        #expect(try cipher.open(made, nonce: bytes(nonce), context: bytes(context)) == bytes(message))
    }

    @Test("each text has a nonce of its own, and is read only with the same key, nonce, context and text")
    func changes() throws {
        let cipher = try #require(AuthenticatedCipher(key: Self.key))
        let message = Array("a message".utf8)
        let (nonce, sealed) = try cipher.seal(message, context: [1])
        let (other, _) = try cipher.seal(message, context: [1])
        #expect(nonce != other)
        #expect(try cipher.open(sealed, nonce: nonce, context: [1]) == message)
        #expect(try cipher.open(sealed, nonce: nonce, context: [2]) == nil)
        #expect(try cipher.open(sealed, nonce: other, context: [1]) == nil)
        #expect(try cipher.open(Array(sealed.prefix(15)), nonce: nonce, context: [1]) == nil)
        #expect(try cipher.open(sealed, nonce: [], context: [1]) == nil)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(try cipher.open(changed, nonce: nonce, context: [1]) == nil)
        }
        let another = try #require(AuthenticatedCipher(key: Array(Self.key.dropLast()) + [8]))
        #expect(try another.open(sealed, nonce: nonce, context: [1]) == nil)
    }

    @Test("a key has 32 bytes, and is never shown")
    func keys() throws {
        #expect(AuthenticatedCipher(key: Array(Self.key.dropLast())) == nil)
        #expect(AuthenticatedCipher(key: []) == nil)
        let cipher = try #require(AuthenticatedCipher(key: Self.key))
        var dumped = ""
        dump(cipher, to: &dumped)
        #expect(!"\(cipher)\(String(reflecting: cipher))\(dumped)".contains("7"))
    }
}
