import Cryptography
import Foundation

/// A key that requests are signed with, in the form of Standard Webhooks: `whsec_` and the key as base64.
///
/// Printed, it shows nothing of the key.
package struct EndpointSecret: Hashable, Sendable {
    private let key: [UInt8]

    /// Nil for a text of another form, and for a key that hasn't 24 to 64 bytes.
    package init?(_ text: some StringProtocol) {
        let prefix = "whsec_"
        guard text.hasPrefix(prefix), let key = Data(base64Encoded: String(text.dropFirst(prefix.count))),
            (24...64).contains(key.count)
        else { return nil }
        self.key = Array(key)
    }

    /// `v1,` and the HMAC of the message by SHA-256, as base64.
    package func signature(of message: [UInt8]) -> String {
        "v1,\(Data(HMAC.sha256(message, key: key)).base64EncodedString())"
    }
}

extension EndpointSecret: CustomStringConvertible, CustomReflectable {
    package var description: String { "secret, hidden" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The secrets of a worker by name. A name has two while its secret is replaced: requests are signed with each.
package struct EndpointSecrets: Hashable, Sendable {
    private var byName: [String: [EndpointSecret]] = [:]

    /// - Parameter text: `name=whsec_…`, with a comma or a line break between. Behind a secret and a space comes the
    ///   one that it replaces.
    /// - Throws: ``MalformedSecrets``, which shows nothing of the text but the number of the entry.
    package init(_ text: String) throws(MalformedSecrets) {
        let entries = text.split { $0 == "," || $0.isNewline }
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        for (number, entry) in zip(1..., entries) {
            let halves = entry.split(separator: "=", maxSplits: 1)
            let name = halves[0].trimmingCharacters(in: .whitespaces)
            let words = halves.dropFirst().flatMap { $0.split(separator: " ") }
            let secrets = words.compactMap { EndpointSecret($0) }
            guard name.wholeMatch(of: /[a-zA-Z0-9._-]{1,100}/) != nil, byName[name] == nil,
                (1...2).contains(words.count),
                secrets.count == words.count
            else { throw MalformedSecrets(entry: number) }
            byName[name] = secrets
        }
        guard !byName.isEmpty else { throw MalformedSecrets(entry: 1) }
    }

    package subscript(name: String) -> [EndpointSecret]? { byName[name] }
}

/// Secrets that can't be used. Its description says what was expected.
package struct MalformedSecrets: Error, CustomStringConvertible {
    let entry: Int

    package var description: String {
        "entry \(entry): expected name=whsec_… with the base64 of 24 to 64 bytes, each name once, with at most two "
            + "secrets"
    }
}
