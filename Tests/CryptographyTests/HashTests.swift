import Cryptography
import Testing

@Suite("Hashes") struct HashTests {
    @Test(
        "SHA-256 is that of FIPS 180-2",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                String(repeating: "a", count: 1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ])
    func sha256(text: String, hash: String) { #expect(SHA256.hash(Array(text.utf8)) == bytes(hash)) }

    @Test(
        "MD5 is that of RFC 1321",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f"
            ),
            (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
        ])
    func md5(text: String, hash: String) { #expect(MD5.hash(Array(text.utf8)) == bytes(hash)) }

    @Test("pieces have the hash of the whole, whatever their sizes", arguments: [1, 63, 64, 65, 1000, 4096])
    func pieces(size: Int) {
        let whole = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var sha256 = SHA256()
        var md5 = MD5()
        for start in stride(from: 0, to: whole.count, by: size) {
            let piece = Array(whole[start..<min(start + size, whole.count)])
            sha256.update(piece)
            md5.update(piece)
        }
        sha256.update([])
        let (one, other) = (sha256.finalize(), md5.finalize())
        #expect(one == SHA256.hash(whole) && other == MD5.hash(whole))
    }

    @Test("tasks hash at the same time without disturbing each other")
    func concurrent() async {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let text = [UInt8](repeating: UInt8(number), count: 1000 + number)
                    var hash = SHA256()
                    for byte in text { hash.update([byte]) }
                    return hash.finalize() == SHA256.hash(text)
                }
            }
            for await isEqual in group { #expect(isEqual) }
        }
    }
}

@Suite("HMAC by SHA-256") struct HMACTests {
    @Test(
        "a code is that of RFC 4231: short keys, and keys longer than a block",
        arguments: [
            (
                String(repeating: "0b", count: 20), Array("Hi There".utf8),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                "4a656665", Array("what do ya want for nothing?".utf8),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                String(repeating: "aa", count: 20), [UInt8](repeating: 0xdd, count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                "0102030405060708090a0b0c0d0e0f10111213141516171819", [UInt8](repeating: 0xcd, count: 50),
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
            ),
            (
                String(repeating: "aa", count: 131),
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            (
                String(repeating: "aa", count: 131),
                Array(
                    "This is a test using a larger than block-size key and a larger than block-size data. The key "
                        .utf8)
                    + Array("needs to be hashed before being used by the HMAC algorithm.".utf8),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
            ),
        ])
    func codes(key: String, message: [UInt8], code: String) {
        #expect(HMAC.sha256(message, key: bytes(key)) == bytes(code))
    }

    @Test("an empty key and an empty message have a code")
    func empty() {
        #expect(
            HMAC.sha256([], key: []) == bytes("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"))
    }
}

/// The bytes of hexadecimal digits.
func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = hexadecimal.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
