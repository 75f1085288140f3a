import Errand
import Logging

extension JSONValue {
    /// How many characters a text of a log line has at most, and how many elements an array.
    private static let length = 2000
    private static let elements = 100

    /// A value of a log line: numbers, truth values, arrays and objects stay what they are. Long texts and arrays are
    /// cut.
    init(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): self = .string(String(text.prefix(Self.length)))
        case .array(let values): self = .array(values.prefix(Self.elements).map(JSONValue.init))
        case .dictionary(let fields): self = .object(fields.mapValues(JSONValue.init))
        case .stringConvertible(let value):
            switch value {
            case let value as Bool: self = .bool(value)
            case let number as any BinaryInteger: self = .number(Double(number))
            case let number as Double where number.isFinite: self = .number(number)
            default: self = .string(String("\(value)".prefix(Self.length)))
            }
        }
    }

    /// As a line for people has it: a text is plain, all else is JSON.
    var logText: String {
        if case .string(let text) = self { return text.printable }
        return (try? Command.json(self)) ?? ""
    }
}
