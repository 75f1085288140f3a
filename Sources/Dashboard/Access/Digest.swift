import Crypto
import Foundation

/// Comparisons and random texts for log-ins.
enum Digest {
    /// Compares two secrets in a time that doesn't depend on where they differ, nor on their lengths.
    static func areEqual(_ one: String, _ other: String) -> Bool {
        // An HMAC with a random key: its own comparison is constant-time, and nobody can choose what it compares.
        let key = SymmetricKey(size: .bits256)
        let code = HMAC<SHA256>.authenticationCode(for: Data(one.utf8), using: key)
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Data(other.utf8), using: key)
    }

    /// 256 random bits as 43 letters, digits, `-` and `_`.
    static func randomText() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }
}
