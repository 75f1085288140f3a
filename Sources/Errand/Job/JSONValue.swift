import Foundation
import Postgres

/// Any JSON value.
///
/// It isn't `Decodable`. A decoder doesn't say what comes next, so it would be asked for one type after another, and
/// each refusal describes the path from the top: a second for 3 KB of objects within each other.
public enum JSONValue: Encodable, Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Reads a document, in time proportional to its length.
    ///
    /// - Throws: an error that says what is wrong with a text that isn't JSON, has a number beyond a `Double`, or has
    ///   over 500 objects and arrays within each other.
    public init(_ json: JSONB) throws {
        try self.init(object: JSONSerialization.jsonObject(with: Data(json.bytes), options: .fragmentsAllowed))
    }

    private init(object: Any) throws {
        switch object {
        case let fields as [String: Any]: self = .object(try fields.mapValues(JSONValue.init(object:)))
        case let elements as [Any]: self = .array(try elements.map(JSONValue.init(object:)))
        case let text as String: self = .string(text)
        // Foundation stores a truth value as a number of one byte, and no other number in so few.
        case let number as NSNumber where number.objCType.pointee == Int8(UInt8(ascii: "c")):
            self = .bool(number.boolValue)
        case let number as NSNumber:
            guard number.doubleValue.isFinite else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: [], debugDescription: "expected numbers that fit a Double, got a larger one"))
            }
            self = .number(number.doubleValue)
        default: self = .null
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
