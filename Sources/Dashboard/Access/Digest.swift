import Cryptography
import Foundation

/// Comparisons and random texts for log-ins.
enum Digest {
    /// Compares two secrets in a time that doesn't depend on where they differ, nor on their lengths.
    static func areEqual(_ one: String, _ other: String) -> Bool {
        // By their HMAC with a random key: both have 32 bytes, and nobody can choose what is compared.
        let key = randomBytes()
        return HMAC.sha256(Array(one.utf8), key: key).equalsInConstantTime(HMAC.sha256(Array(other.utf8), key: key))
    }

    /// 256 random bits as 43 letters, digits, `-` and `_`.
    static func randomText() -> String {
        Data(randomBytes()).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    private static func randomBytes() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}
