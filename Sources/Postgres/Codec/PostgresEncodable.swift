import Foundation

/// The object ids of a type and of arrays of it, as PostgreSQL has them built in (`pg_type.dat`).
public struct PostgresType: Sendable, Hashable {
    let scalar: UInt32
    let array: UInt32
}

/// A value that can be a statement's parameter.
public protocol PostgresEncodable: Sendable {
    static var postgresType: PostgresType { get }
    /// Appends the value in PostgreSQL's binary form; false, and nothing appended, is NULL.
    func encode(into bytes: inout [UInt8]) -> Bool
}

extension [UInt8] {
    /// Appends an integer, highest byte first.
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

extension Bool: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 16, array: 1000) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }
}

extension Int16: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 21, array: 1005) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: self)
        return true
    }
}

extension Int32: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 23, array: 1007) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: self)
        return true
    }
}

extension Int64: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 20, array: 1016) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: self)
        return true
    }
}

/// An `Int` is a `bigint`.
extension Int: PostgresEncodable {
    public static var postgresType: PostgresType { Int64.postgresType }
    public func encode(into bytes: inout [UInt8]) -> Bool { Int64(self).encode(into: &bytes) }
}

extension Double: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 701, array: 1022) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: bitPattern)
        return true
    }
}

/// U+0000 can't be stored: the server refuses it.
extension String: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 25, array: 1009) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: utf8)
        return true
    }
}

extension UUID: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 2950, array: 2951) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) }
        return true
    }
}

extension Timestamp: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 1184, array: 1185) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: microseconds)
        return true
    }
}

extension JSONB: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: 3802, array: 3807) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(1)  // the version of jsonb's binary form
        bytes.append(contentsOf: self.bytes)
        return true
    }
}

/// Bytes, as `bytea`. Not `[UInt8]`: an array is an array.
public struct Bytes: PostgresEncodable, Hashable {
    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public static var postgresType: PostgresType { .init(scalar: 17, array: 1001) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: self.bytes)
        return true
    }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    public static var postgresType: PostgresType { Wrapped.postgresType }
    public func encode(into bytes: inout [UInt8]) -> Bool { self?.encode(into: &bytes) ?? false }
}

/// A one-dimensional array, counted from 1. Arrays of arrays are not supported.
extension Array: PostgresEncodable where Element: PostgresEncodable {
    public static var postgresType: PostgresType { .init(scalar: Element.postgresType.array, array: 0) }
    public func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(bigEndian: Int32(isEmpty ? 0 : 1))  // dimensions
        bytes.append(bigEndian: Int32(0))  // has NULLs: the server sees for itself
        bytes.append(bigEndian: Element.postgresType.scalar)
        guard !isEmpty else { return true }
        bytes.append(bigEndian: Int32(count))
        bytes.append(bigEndian: Int32(1))  // the first index
        for element in self {
            let lengthAt = bytes.count
            bytes.append(bigEndian: Int32(-1))
            guard element.encode(into: &bytes) else { continue }
            let length = Int32(bytes.count - lengthAt - 4)
            Swift.withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(lengthAt..<lengthAt + 4, with: $0) }
        }
        return true
    }
}
