import Cryptography
import Foundation
import Testing

/// Keys that the program openssl has made, in the forms that files have.
@Suite("Keys") struct KeyTests {
    @Test(
        "a key is read as PKCS #8, and in the older form of its type",
        arguments: [
            (SignatureAlgorithm.es256, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256", "PRIVATE"),
            (.es256, "ecparam -name prime256v1 -genkey -noout", "EC PRIVATE"),
            (.rs256, "genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048", "PRIVATE"),
            (.rs256, "genrsa -traditional 2048", "RSA PRIVATE"),
        ])
    func read(algorithm: SignatureAlgorithm, command: String, name: String) throws {
        let pem = try openssl(command)
        #expect(pem.hasPrefix("-----BEGIN \(name) KEY-----"))
        let key = try SigningKey(pem: pem, for: algorithm)
        #expect(key.verifyingKey.isValid(try key.signature(of: [1, 2, 3]), of: [1, 2, 3]))
    }

    @Test(
        "a key of another curve, type or size is refused",
        arguments: [
            (SignatureAlgorithm.es256, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384"),
            (.es256, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1"),
            (.es256, "genpkey -algorithm ED25519"),
            (.es256, "genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048"),
            (.rs256, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"),
            (.rs256, "genpkey -quiet -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048"),
            (.rs256, "genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:1024"),
        ])
    func otherKind(algorithm: SignatureAlgorithm, command: String) throws {
        let pem = try openssl(command)
        try expectRefused(pem, for: algorithm)
    }

    @Test(
        "a key with a passphrase is refused, and nobody is asked for it",
        arguments: [
            "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes256 -pass pass:hunter2",
            "genrsa -traditional -aes128 -passout pass:hunter2 2048",
        ])
    func passphrase(command: String) throws {
        let pem = try openssl(command)
        #expect(pem.contains("ENCRYPTED"))
        for algorithm in [SignatureAlgorithm.es256, .rs256] { try expectRefused(pem, for: algorithm) }
    }

    @Test("a text that is no PEM of a private key is refused")
    func malformed() throws {
        let key = try SigningKey(generating: .es256)
        let pem = try key.pem()
        let lines = pem.split(separator: "\n").map(String.init)
        for text in [
            "", "hunter2", lines[0], lines.dropLast().joined(separator: "\n"), pem.replacing("M", with: "?"),
            ([lines[0], String(lines[1].dropLast(8))] + lines.dropFirst(2)).joined(separator: "\n"),
            try key.verifyingKey.pem(),
        ] {
            try expectRefused(text, for: .es256)
        }
        #expect(throws: CryptographyError.self) { try VerifyingKey(pem: pem, for: .es256) }
    }

    @Test("a key whose halves don't belong together is refused")
    func otherHalf() throws {
        let (one, other) = (try der(SigningKey(generating: .es256)), try der(SigningKey(generating: .es256)))
        // The public half is the end of the text: 64 bytes.
        let mixed = Data(one.dropLast(64) + other.suffix(64)).base64EncodedString(options: .lineLength64Characters)
        try expectRefused("-----BEGIN PRIVATE KEY-----\n\(mixed)\n-----END PRIVATE KEY-----\n", for: .es256)
    }

    @Test("nothing shows a key", arguments: [SignatureAlgorithm.es256, .rs256])
    func hidden(algorithm: SignatureAlgorithm) throws {
        let key = try SigningKey(generating: algorithm)
        var dumped = ""
        dump(key, to: &dumped)
        let secrets = try key.pem().split(separator: "\n").dropFirst().dropLast()
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(!text.contains("PrivateKey"))
            for secret in secrets { #expect(!text.contains(secret)) }
        }
    }

    /// Expects an error that shows no line of the text.
    private func expectRefused(_ pem: String, for algorithm: SignatureAlgorithm) throws {
        let error = #expect(throws: CryptographyError.self) { try SigningKey(pem: pem, for: algorithm) }
        let shown = try #require(error.map { "\($0) \(String(reflecting: $0))" })
        for line in pem.split(separator: "\n") where !line.hasPrefix("-") { #expect(!shown.contains(line)) }
        #expect(!shown.contains("hunter2"))
    }

    private func der(_ key: SigningKey) throws -> Data {
        let text = try key.pem().split(separator: "\n").dropFirst().dropLast().joined()
        return try #require(Data(base64Encoded: text))
    }
}

/// What the program openssl writes.
private func openssl(_ arguments: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments.split(separator: " ").map(String.init)
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
    return text
}
