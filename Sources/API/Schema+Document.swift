import Errand
import Foundation

extension Schema {
    /// The schema as JSON Schema 2020-12, which OpenAPI 3.1 has.
    var document: JSONValue {
        switch self {
        case .any: [:]
        case .boolean: ["type": "boolean"]
        case .integer(let range):
            [
                "type": "integer", "format": "int64", "minimum": .number(Double(range.lowerBound)),
                "maximum": .number(Double(range.upperBound)),
            ]
        case .number(let range):
            ["type": "number", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)]
        case .text(let text): .object(text.document)
        case .choice(let names): ["type": "string", "enum": .array(names.map { .string($0) })]
        case .list(let schema, let most):
            ["type": "array", "items": schema.document, "maxItems": .number(Double(most))]
        case .optional(.any): [:]
        case .optional(let schema): ["anyOf": [schema.document, ["type": "null"]]]
        case .named(let name, _): ["$ref": .string("#/components/schemas/\(name)")]
        case .object(let fields):
            [
                "type": "object", "additionalProperties": false,
                "properties": .object(
                    Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.schema.document(with: $0.description)) })
                ),
                "required": .array(fields.filter(\.isRequired).map { .string($0.name) }),
            ]
        }
    }

    private func document(with description: String) -> JSONValue {
        guard case .object(var fields) = document else { return document }
        fields["description"] = .string(description)
        return .object(fields)
    }

    /// The parts with names, in it and below.
    var named: [String: JSONValue] {
        switch self {
        case .named(let name, let schema): schema.named.merging([name: schema.document]) { $1 }
        case .optional(let schema), .list(let schema, _): schema.named
        case .object(let fields): fields.reduce(into: [:]) { $0.merge($1.schema.named) { $1 } }
        case .text, .choice, .integer, .number, .boolean, .any: [:]
        }
    }
}

extension Schema.Text {
    fileprivate var document: [String: JSONValue] {
        var fields: [String: JSONValue] = ["type": "string"]
        if form == .time {
            fields["format"] = "date-time"
        } else {
            fields["minLength"] = .number(Double(length.lowerBound))
            fields["maxLength"] = .number(Double(length.upperBound))
        }
        if let form { fields["pattern"] = .string(form.rawValue) }
        return fields
    }
}

// MARK: - JSON as Swift writes it
extension JSONValue {
    /// With sorted keys.
    var sortedJSON: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only a number that is not finite has no JSON form.
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByDictionaryLiteral,
    ExpressibleByArrayLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(uniqueKeysWithValues: elements))
    }
}
