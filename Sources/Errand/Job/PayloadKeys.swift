import Cryptography
import Foundation

/// The keys of encrypted payloads, by id: the first one encrypts, and all of them decrypt.
///
/// A key is replaced in three steps: all programs get the new one behind the old one, then before it, and once no
/// payload of the old one is left they lose that.
///
/// Printed, they show nothing but their ids.
public struct PayloadKeys: Sendable {
    private let ciphers: [String: AuthenticatedCipher]
    /// The id of the key that encrypts.
    public let writing: String

    /// - Parameter text: `id=key`, with a comma or a line break between. An id has 1 to 40 of `a-z A-Z 0-9 . _ -`, and
    ///   a key is the base64 of 32 random bytes, such as those of `openssl rand -base64 32`.
    /// - Throws: ``MalformedPayloadKeys``, which shows nothing of the text but the number of the entry.
    public init(_ text: String) throws(MalformedPayloadKeys) {
        var ciphers: [String: AuthenticatedCipher] = [:]
        var first: String?
        let entries = text.split { $0 == "," || $0.isNewline }
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        for (number, entry) in zip(1..., entries) {
            let halves = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, String(halves[0]).wholeMatch(of: /[a-zA-Z0-9._-]{1,40}/) != nil,
                ciphers[String(halves[0])] == nil, let key = Data(base64Encoded: String(halves[1])),
                let cipher = AuthenticatedCipher(key: Array(key))
            else { throw MalformedPayloadKeys(entry: number) }
            ciphers[String(halves[0])] = cipher
            first = first ?? String(halves[0])
        }
        guard let first else { throw MalformedPayloadKeys(entry: 1) }
        self.ciphers = ciphers
        writing = first
    }

    /// The keys of a file with this name, read once.
    ///
    /// - Throws: ``MalformedPayloadKeys``; its entry is 0 if there is no such file, or it can't be read.
    public init(path: String) throws(MalformedPayloadKeys) {
        guard let bytes = FileManager.default.contents(atPath: path) else { throw MalformedPayloadKeys(entry: 0) }
        try self.init(String(decoding: bytes, as: UTF8.self))
    }

    /// The ids of all keys, sorted.
    public var ids: [String] { ciphers.keys.sorted() }

    subscript(id: String) -> AuthenticatedCipher? { ciphers[id] }
}

extension PayloadKeys: CustomStringConvertible, CustomReflectable {
    public var description: String { "keys \(ids.joined(separator: ", ")), hidden" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Keys that can't be used. Its description says what was expected.
public struct MalformedPayloadKeys: Error, Sendable, Hashable, CustomStringConvertible {
    /// The number of the entry, from 1; 0 if there is no file.
    public let entry: Int

    public var description: String {
        entry == 0
            ? "expected a file of keys, got none that can be read"
            : "entry \(entry): expected id=key with the base64 of 32 bytes, each id once"
    }
}
