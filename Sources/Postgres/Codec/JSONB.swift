import Foundation

/// A JSON document as `jsonb`, kept as text until somebody decodes it.
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

    /// The JSON form of a value. Throws an `EncodingError` where it has none.
    public init(encoding value: some Encodable) throws {
        bytes = Array(try Self.encoder.encode(value))
    }

    /// Throws a `DecodingError` where the document isn't a `T`.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try Self.decoder.decode(type, from: Data(bytes))
    }

    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Which transactions a statement saw: `pg_snapshot`.
public struct Snapshot: Sendable, Hashable {
    /// The lowest transaction id that was still running.
    public let xmin: UInt64
    /// One above the highest that had been given out.
    public let xmax: UInt64
    /// Those that were running.
    public let running: [UInt64]
}
