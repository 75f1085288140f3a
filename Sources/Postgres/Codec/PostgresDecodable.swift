import Foundation

/// A value that can be read from a result's column.
public protocol PostgresDecodable: Sendable {
    /// Whether it reads columns of the type with this object id. It is called for each value, so it must not allocate.
    static func reads(_ type: UInt32) -> Bool
    /// Reads the binary form of a column of that type; nil is NULL.
    init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError)
}

extension UnsafeRawBufferPointer {
    func integer<T: FixedWidthInteger>(_ type: T.Type = T.self, at offset: Int = 0) throws(PostgresError) -> T {
        guard offset + MemoryLayout<T>.size <= count else {
            throw PostgresError(.malformed, "expected \(MemoryLayout<T>.size) bytes more, got \(count - offset)")
        }
        return T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
    }
}

/// The bytes of a column that must not be NULL.
func notNull(
    _ bytes: UnsafeRawBufferPointer?, _ type: Any.Type
) throws(PostgresError) -> UnsafeRawBufferPointer {
    guard let bytes else { throw PostgresError(.malformed, "expected \(type), got NULL") }
    return bytes
}

extension Bool: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 16 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        self = try notNull(bytes, Self.self).integer(UInt8.self) != 0
    }
}

extension Int16: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 21 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        self = try notNull(bytes, Self.self).integer()
    }
}

extension Int32: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 23 || type == 21 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        let bytes = try notNull(bytes, Self.self)
        self = type == 21 ? Int32(try bytes.integer(Int16.self)) : try bytes.integer()
    }
}

/// Reads the shorter integers too.
extension Int64: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 20 || type == 23 || type == 21 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        let bytes = try notNull(bytes, Self.self)
        switch type {
        case 21: self = Int64(try bytes.integer(Int16.self))
        case 23: self = Int64(try bytes.integer(Int32.self))
        default: self = try bytes.integer()
        }
    }
}

extension Int: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { Int64.reads(type) }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        self = Int(try Int64(column: bytes, type: type))
    }
}

extension Double: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 701 || type == 700 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        let bytes = try notNull(bytes, Self.self)
        self =
            type == 700
            ? Double(Float(bitPattern: try bytes.integer(UInt32.self)))
            : Double(bitPattern: try bytes.integer(UInt64.self))
    }
}

extension String: PostgresDecodable {
    /// text, varchar, bpchar, name, "char", and what a literal without a type is.
    public static func reads(_ type: UInt32) -> Bool {
        type == 25 || type == 1043 || type == 1042 || type == 19 || type == 18 || type == 705
    }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        self = String(decoding: try notNull(bytes, Self.self), as: UTF8.self)
    }
}

extension UUID: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 2950 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        let bytes = try notNull(bytes, Self.self)
        guard bytes.count == 16 else { throw PostgresError(.malformed, "expected 16 bytes, got \(bytes.count)") }
        self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

extension Timestamp: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 1184 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        microseconds = try notNull(bytes, Self.self).integer()
    }
}

extension JSONB: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 3802 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        let bytes = try notNull(bytes, Self.self)
        guard bytes.first == 1 else { throw PostgresError(.malformed, "expected version 1 of jsonb's binary form") }
        self.bytes = Array(bytes.dropFirst())
    }
}

extension Bytes: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { type == 17 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        self.bytes = Array(try notNull(bytes, Self.self))
    }
}

extension Snapshot: PostgresDecodable {
    /// pg_snapshot and its older twin txid_snapshot.
    public static func reads(_ type: UInt32) -> Bool { type == 5038 || type == 2970 }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        let bytes = try notNull(bytes, Self.self)
        let count = Int(try bytes.integer(Int32.self))
        xmin = try bytes.integer(at: 4)
        xmax = try bytes.integer(at: 12)
        guard count >= 0 else { throw PostgresError(.malformed, "expected a snapshot, got \(count) transactions") }
        var running: [UInt64] = []
        for index in 0..<count { running.append(try bytes.integer(at: 20 + index * 8)) }
        self.running = running
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    public static func reads(_ type: UInt32) -> Bool { Wrapped.reads(type) }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        self = bytes == nil ? nil : try Wrapped(column: bytes, type: type)
    }
}

/// One dimension; an element may be NULL if `Element` is optional.
extension Array: PostgresDecodable where Element: PostgresDecodable & PostgresEncodable {
    public static func reads(_ type: UInt32) -> Bool { type == Element.postgresType.array }
    public init(column bytes: UnsafeRawBufferPointer?, type: UInt32) throws(PostgresError) {
        let bytes = try notNull(bytes, Self.self)
        let dimensions = try bytes.integer(Int32.self)
        self = []
        guard dimensions > 0 else { return }
        guard dimensions == 1 else {
            throw PostgresError(.malformed, "expected an array of one dimension, got \(dimensions)")
        }
        let elementType = try bytes.integer(UInt32.self, at: 8)
        let count = Int(try bytes.integer(Int32.self, at: 12))
        // Four bytes a value at least.
        guard count >= 0, count <= bytes.count / 4 else {
            throw PostgresError(.malformed, "expected an array, got one of \(count) values in \(bytes.count) bytes")
        }
        reserveCapacity(count)
        var offset = 20
        for _ in 0..<count {
            let length = Int(try bytes.integer(Int32.self, at: offset))
            offset += 4
            guard length >= 0 else {
                append(try Element(column: nil, type: elementType))
                continue
            }
            guard offset + length <= bytes.count else { throw PostgresError(.malformed, "array is cut short") }
            append(try Element(column: .init(rebasing: bytes[offset..<offset + length]), type: elementType))
            offset += length
        }
    }
}
