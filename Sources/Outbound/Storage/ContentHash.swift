import Crypto

/// The SHA-256 of some bytes: what says that two objects are the same.
package struct ContentHash: Hashable, Sendable {
    /// 32 of them.
    package let bytes: [UInt8]

    package init(of bytes: some Collection<UInt8>) { self.bytes = Array(SHA256.hash(data: Array(bytes))) }

    init(_ digest: SHA256.Digest) { bytes = Array(digest) }

    /// Nil where these are not 64 hexadecimal digits.
    package init?(hex: some StringProtocol) {
        let digits = hex.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 64, hex.utf8.count == 64 else { return nil }
        bytes = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension ContentHash {
    /// Hashes what comes in pieces.
    struct Hasher {
        private var state = SHA256()

        mutating func update(_ bytes: [UInt8]) { state.update(data: bytes) }

        func finish() -> ContentHash { ContentHash(state.finalize()) }
    }
}

extension ContentHash: CustomStringConvertible {
    package var description: String { bytes.hex }
}
