import Cryptography
import Postgres

/// A token of the HTTP API: `errand_` and 32 random bytes. The database has its hash alone.
package struct APIToken: Sendable {
    private static let prefix = "errand_"
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package let text: String

    /// A new token.
    package init() {
        // 43 digits of 6 bits: 258 bits, from the kernel.
        var generator = SystemRandomNumberGenerator()
        text =
            Self.prefix
            + String(decoding: (0..<43).map { _ in Self.digits.randomElement(using: &generator)! }, as: UTF8.self)
    }

    /// Nil for a text that can't be a token, so that the database isn't asked.
    init?(_ text: some StringProtocol) {
        let digits = text.utf8.dropFirst(Self.prefix.utf8.count)
        guard text.hasPrefix(Self.prefix), digits.count == 43, digits.allSatisfy(Self.digits.contains) else {
            return nil
        }
        self.text = String(text)
    }

    /// What the database knows it by: the SHA-256 of its text.
    package var hash: Bytes { Bytes(SHA256.hash(Array(text.utf8))) }
}

extension APIToken: CustomStringConvertible, CustomReflectable {
    /// Not the token, which no log may have.
    package var description: String { "APIToken" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
