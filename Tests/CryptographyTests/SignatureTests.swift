import Cryptography
import Foundation
import Testing

@Suite("Signatures") struct SignatureTests {
    private let message = Array("header.claims".utf8)

    @Test("a signature is valid for its message and its key alone", arguments: [SignatureAlgorithm.es256, .rs256])
    func roundTrip(algorithm: SignatureAlgorithm) throws {
        let key = try SigningKey(generating: algorithm)
        let signature = try key.signature(of: message)
        #expect(signature.count == (algorithm == .es256 ? 64 : 256))
        #expect(key.verifyingKey.isValid(signature, of: message))
        #expect(!key.verifyingKey.isValid(signature, of: message + [0]))
        #expect(!key.verifyingKey.isValid(Array(signature.dropLast()), of: message))
        #expect(!key.verifyingKey.isValid([], of: message))
        var other = signature
        other[40] ^= 1
        #expect(!key.verifyingKey.isValid(other, of: message))
        #expect(!(try SigningKey(generating: algorithm).verifyingKey.isValid(signature, of: message)))
    }

    @Test("both halves of a key are the same after a way through PEM", arguments: [SignatureAlgorithm.es256, .rs256])
    func pem(algorithm: SignatureAlgorithm) throws {
        let key = try SigningKey(generating: algorithm)
        #expect(try key.pem().hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(try key.verifyingKey.pem().hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
        let signature = try SigningKey(pem: try key.pem(), for: algorithm).signature(of: message)
        #expect(try VerifyingKey(pem: try key.verifyingKey.pem(), for: algorithm).isValid(signature, of: message))
    }

    @Test("the example tokens of RFC 7515 are valid: ES256 of A.3, and RS256 of A.2")
    func published() throws {
        let claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let elliptic = try VerifyingKey(pem: Published.ellipticKey, for: .es256)
        let es256 = Array("eyJhbGciOiJFUzI1NiJ9.\(claims)".utf8)
        #expect(elliptic.isValid(try #require(Published.bytes(Published.ellipticSignature)), of: es256))
        let rsa = try VerifyingKey(pem: Published.rsaKey, for: .rs256)
        let rs256 = Array("eyJhbGciOiJSUzI1NiJ9.\(claims)".utf8)
        #expect(rsa.isValid(try #require(Published.bytes(Published.rsaSignature)), of: rs256))
    }

    @Test("numbers of a signature that begin with zeros keep their 32 bytes each")
    func leadingZeros() throws {
        let key = try SigningKey(generating: .es256)
        // One in 128 signatures has a zero at one of the two places.
        var zeros = 0
        for number in 0..<1_500 where zeros < 2 {
            let message = Array("\(number)".utf8)
            let signature = try key.signature(of: message)
            #expect(signature.count == 64)
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            zeros += 1
            #expect(key.verifyingKey.isValid(signature, of: message))
        }
        #expect(zeros == 2)
    }

    @Test("tasks sign with one key at the same time", arguments: [SignatureAlgorithm.es256, .rs256])
    func concurrent(algorithm: SignatureAlgorithm) async throws {
        let key = try SigningKey(generating: algorithm)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<32 {
                group.addTask {
                    let message = Array("message \(number)".utf8)
                    return key.verifyingKey.isValid(try key.signature(of: message), of: message)
                }
            }
            for try await isValid in group { #expect(isValid) }
        }
    }
}

/// The keys and signatures of the appendix A of RFC 7515.
private enum Published {
    static let ellipticKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
        6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END PUBLIC KEY-----
        """
    static let ellipticSignature =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    static let rsaKey = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAofgWCuLjybRlzo0tZWJj
        NiuSfb4p4fAkd/wWJcyQoTbji9k0l8W26mPddxHmfHQp+Vaw+4qPCJrcS2mJPMEz
        P1Pt0Bm4d4QlL+yRT+SFd2lZS+pCgNMsD1W/YpRPEwOWvG6b32690r2jZ47soMZo
        9wGzjb/7OMg0LOL+bSf63kpaSHSXndS5z5rexMdbBYUsLA9e+KXBdQOS+UTo7WTB
        EMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6/I5IhlJH7aGhyxX
        FvUK+DWNmoudF8NAco9/h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXp
        oQIDAQAB
        -----END PUBLIC KEY-----
        """
    static let rsaSignature =
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
        + "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383"
        + "LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy"
        + "wlVmtVrBp0igcN_IoypGlUPQGe77Rw"

    /// Reads base 64 as JSON Web Tokens have it.
    static func bytes(_ text: String) -> [UInt8]? {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)).map(Array.init)
    }
}
