import Tracing

/// An attribute as OTLP has it: `{"key": …, "value": {"stringValue": …}}`.
struct Attribute: Encodable {
    /// How many characters a text has at most.
    static let length = 2000
    /// How many attributes a span has at most.
    private static let limit = 64

    let key: String
    let value: Value

    enum Value: Encodable {
        case string(String)
        case int(Int64)
        case double(Double)
        case bool(Bool)
        case array([Value])

        private enum CodingKeys: CodingKey { case stringValue, intValue, doubleValue, boolValue, arrayValue }

        private struct Values: Encodable { let values: [Value] }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .string(let text):
                try container.encode(text.prefix(Attribute.length).description, forKey: .stringValue)
            // As a text: a JSON number has 53 bits.
            case .int(let number): try container.encode("\(number)", forKey: .intValue)
            case .double(let number) where number.isFinite: try container.encode(number, forKey: .doubleValue)
            // OTLP has no JSON number for it.
            case .double(let number): try container.encode("\(number)", forKey: .stringValue)
            case .bool(let value): try container.encode(value, forKey: .boolValue)
            case .array(let values): try container.encode(Values(values: values), forKey: .arrayValue)
            }
        }
    }

    /// Those of a span, in the order of their names.
    static func all(of attributes: SpanAttributes) -> [Attribute] {
        var all: [Attribute] = []
        attributes.forEach { all.append(Attribute(key: $0, value: Value($1))) }
        return Array(all.sorted { $0.key < $1.key }.prefix(limit))
    }
}

extension Attribute.Value {
    init(_ attribute: SpanAttribute) {
        switch attribute {
        case .int32(let number): self = .int(Int64(number))
        case .int64(let number): self = .int(number)
        case .int32Array(let numbers): self = .array(numbers.map { .int(Int64($0)) })
        case .int64Array(let numbers): self = .array(numbers.map { .int($0) })
        case .double(let number): self = .double(number)
        case .doubleArray(let numbers): self = .array(numbers.map { .double($0) })
        case .bool(let value): self = .bool(value)
        case .boolArray(let values): self = .array(values.map { .bool($0) })
        case .string(let text): self = .string(text)
        case .stringArray(let texts): self = .array(texts.map { .string($0) })
        case .stringConvertible(let value): self = .string("\(value)")
        case .stringConvertibleArray(let values): self = .array(values.map { .string("\($0)") })
        default: self = .string("")
        }
    }
}
