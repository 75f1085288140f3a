import Foundation
import Postgres

/// A value of MessagePack, as a decoder of the format reads it. For tests: it stops at the first wrong byte.
enum MessagePack: Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Beyond `Int64`.
    case large(UInt64)
    case double(Double)
    case text(String)
    case array([MessagePack])
    case map([String: MessagePack])

    struct Malformed: Error {
        let form: UInt8
        let offset: Int
    }

    /// Decodes all bytes.
    init(_ bytes: [UInt8]) throws {
        var reader = Reader(bytes: bytes)
        self = try reader.value()
        guard reader.offset == bytes.count else { throw Malformed(form: bytes[reader.offset], offset: reader.offset) }
    }

    /// The value as JSON. A double must be finite.
    var json: String {
        get throws {
            switch self {
            case .null: "null"
            case .bool(let bool): "\(bool)"
            case .integer(let number): "\(number)"
            case .large(let number): "\(number)"
            case .double(let number): "\(number)"
            case .text(let text): try JSONB(encoding: text).text
            case .array(let values): "[\(try values.map { try $0.json }.joined(separator: ","))]"
            case .map(let values):
                "{\(try values.map { "\(try JSONB(encoding: $0).text):\(try $1.json)" }.joined(separator: ","))}"
            }
        }
    }
}

// MARK: - Reading
extension MessagePack {
    private struct Reader {
        let bytes: [UInt8]
        var offset = 0

        mutating func value() throws -> MessagePack {
            let form = try next()
            switch form {
            case 0x00...0x7f: return .integer(Int64(form))
            case 0x80...0x8f: return try map(Int(form & 0x0f))
            case 0x90...0x9f: return try array(Int(form & 0x0f))
            case 0xa0...0xbf: return .text(try text(Int(form & 0x1f)))
            case 0xc0: return .null
            case 0xc2: return .bool(false)
            case 0xc3: return .bool(true)
            case 0xcb: return .double(Double(bitPattern: try unsigned(8)))
            case 0xcc, 0xcd, 0xce, 0xcf:
                let number = try unsigned(1 << (form - 0xcc))
                return Int64(exactly: number).map { .integer($0) } ?? .large(number)
            case 0xd0: return .integer(Int64(Int8(truncatingIfNeeded: try unsigned(1))))
            case 0xd1: return .integer(Int64(Int16(truncatingIfNeeded: try unsigned(2))))
            case 0xd2: return .integer(Int64(Int32(truncatingIfNeeded: try unsigned(4))))
            case 0xd3: return .integer(Int64(truncatingIfNeeded: try unsigned(8)))
            case 0xd9, 0xda, 0xdb: return .text(try text(Int(try unsigned(1 << (form - 0xd9)))))
            case 0xdc, 0xdd: return try array(Int(try unsigned(2 << (form - 0xdc))))
            case 0xde, 0xdf: return try map(Int(try unsigned(2 << (form - 0xde))))
            case 0xe0...0xff: return .integer(Int64(Int8(bitPattern: form)))
            default: throw Malformed(form: form, offset: offset - 1)
            }
        }

        private mutating func next() throws -> UInt8 {
            guard offset < bytes.count else { throw Malformed(form: 0, offset: offset) }
            defer { offset += 1 }
            return bytes[offset]
        }

        /// The next bytes as a number, the highest first.
        private mutating func unsigned(_ count: Int) throws -> UInt64 {
            var number: UInt64 = 0
            for _ in 0..<count { number = number << 8 | UInt64(try next()) }
            return number
        }

        private mutating func text(_ count: Int) throws -> String {
            guard offset + count <= bytes.count,
                let text = String(validating: bytes[offset..<offset + count], as: UTF8.self)
            else { throw Malformed(form: 0xa0, offset: offset) }
            offset += count
            return text
        }

        private mutating func array(_ count: Int) throws -> MessagePack {
            var values: [MessagePack] = []
            for _ in 0..<count { values.append(try value()) }
            return .array(values)
        }

        private mutating func map(_ count: Int) throws -> MessagePack {
            var values: [String: MessagePack] = [:]
            for _ in 0..<count {
                guard case .text(let key) = try value() else { throw Malformed(form: 0x80, offset: offset) }
                values[key] = try value()
            }
            guard values.count == count else { throw Malformed(form: 0x80, offset: offset) }
            return .map(values)
        }
    }
}
