/// The name of an object in a store: parts of letters, digits and `. _ - + @`, joined by slashes.
///
/// Everything else that a path, a URL or a shell could interpret is refused: `..`, a leading slash or dot, an empty
/// part, percent encoding, control characters, and non-ASCII characters.
public struct ObjectKey: Hashable, Sendable {
    /// The whole key, such as `receipts/17.pdf`.
    public let text: String

    /// Most bytes of a key: 1,024, as in S3. A part has at most 200.
    public static let limit = 1024

    /// - Throws: ``StorageError`` with code `badKey`, which says what was expected and what came.
    public init(_ text: String) throws(StorageError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isGood = parts.allSatisfy { part in
            !part.isEmpty && part.first != "." && part.utf8.count <= 200
                && part.utf8.allSatisfy { Self.letters.contains($0) }
        }
        guard isGood, text.utf8.count <= Self.limit else {
            let shown = String(text.unicodeScalars.prefix(80).map { $0.isASCII && $0.value > 31 ? Character($0) : "?" })
            throw StorageError(
                .badKey,
                "expected parts of a-z A-Z 0-9 . _ - + @ joined by /, up to \(Self.limit) bytes, got '\(shown)'")
        }
        self.text = text
    }

    /// The key of the marker that identifies a store. No other key begins with a dot, so no app can put or remove it.
    static let marker = ObjectKey(reserved: ".errand-store")

    /// The key of a folder, of a text that ends with a slash.
    ///
    /// - Throws: ``StorageError`` with code `badKey`.
    init(folder text: String) throws(StorageError) {
        guard text.hasSuffix("/") else { throw StorageError(.badKey, "expected a folder and a slash, got no slash") }
        try self.init(String(text.dropLast()))
    }

    private init(reserved text: String) { self.text = text }

    private static let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@".utf8)
}

extension ObjectKey {
    /// All parts but the last.
    var folders: [String] { text.split(separator: "/").dropLast().map(String.init) }

    /// The last part.
    var name: String { String(text.split(separator: "/").last ?? "") }
}

extension ObjectKey: CustomStringConvertible {
    public var description: String { text }
}
