import Cryptography

/// The SHA-256 of an object's bytes.
public struct ContentHash: Hashable, Sendable {
    /// The 32 bytes of the hash.
    public let bytes: [UInt8]

    /// Hashes the bytes.
    public init(of bytes: some Collection<UInt8>) { self.bytes = SHA256.hash(Array(bytes)) }

    fileprivate init(_ hash: consuming SHA256) { bytes = hash.finalize() }

    /// Reads 64 hexadecimal digits. Nil for any other text.
    public init?(hex: some StringProtocol) {
        let digits = hex.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 64, hex.utf8.count == 64 else { return nil }
        bytes = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension ContentHash {
    /// Hashes what comes in pieces.
    struct Hasher: ~Copyable {
        private var state = SHA256()

        mutating func update(_ bytes: [UInt8]) { state.update(bytes) }

        consuming func finish() -> ContentHash { ContentHash(state) }
    }
}

extension ContentHash: CustomStringConvertible {
    public var description: String { bytes.hex }
}
