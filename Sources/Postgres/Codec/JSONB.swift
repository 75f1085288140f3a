import Foundation

/// A JSON document as `jsonb`, stored as text until it is decoded.
public struct JSONB: Sendable, Hashable {
    /// The document's text, UTF-8.
    public let bytes: [UInt8]

    private static let decoder = JSONDecoder()
    private static let encoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return encoder
    }()

    public init(bytes: [UInt8]) { self.bytes = bytes }

    public init(_ text: String) { bytes = Array(text.utf8) }

    /// Encodes a value as JSON. Throws an `EncodingError` if it has no JSON form.
    public init(encoding value: some Encodable) throws {
        bytes = Array(try Self.encoder.encode(value))
    }

    /// Decodes a `T`. Throws a `DecodingError` if the document isn't one.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try Self.decoder.decode(type, from: Data(bytes))
    }

    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension JSONB: CustomStringConvertible {
    public var description: String { text }
}

/// The transactions that a statement saw: `pg_snapshot`.
public struct Snapshot: Sendable, Hashable {
    /// The lowest transaction id that was still running.
    public let xmin: UInt64
    /// One above the highest transaction id that had ended.
    public let xmax: UInt64
    /// The transaction ids that were still running.
    public let running: [UInt64]
}
