import Errand

/// What JSON a request or a response has. Both the check of a request and the OpenAPI document are made from it.
indirect enum Schema: Sendable {
    case text(Text)
    /// One of these texts.
    case choice([String])
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    case boolean
    /// Any JSON.
    case any
    case object([Field])
    case list(of: Schema, most: Int)
    /// Or null.
    case optional(Schema)
    /// A part of the document with a name.
    case named(String, Schema)

    struct Text: Sendable {
        var length: ClosedRange<Int> = 0...300_000
        var form: Form?
    }

    struct Field: Sendable {
        let name: String
        let schema: Schema
        let description: String
        var isRequired = false
    }

    /// The form of a text, as a regular expression of JSON Schema, which searches.
    enum Form: String, Sendable {
        /// Of a kind or a queue.
        case name = "^[a-z][a-z0-9_.-]*$"
        /// Of an Idempotency-Key.
        case visible = "^[!-~]*$"
        case seconds = "^([0-9]|[1-5][0-9]|60)s$"
        /// RFC 3339, in the years that PostgreSQL and it have both.
        case time = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
        /// What PostgreSQL can store.
        case withoutNUL = "^[^\\u0000]*$"
    }

    static func text(_ length: ClosedRange<Int>, _ form: Form? = nil) -> Schema {
        .text(Text(length: length, form: form))
    }

    static let time = text(20...40, .time)

    /// One of the names of an enumeration.
    static func choice<C: CaseIterable & RawRepresentable<String>>(of type: C.Type) -> Schema {
        .choice(type.allCases.map(\.rawValue))
    }
}

// MARK: - Checks
extension Schema {
    /// What is wrong with a value, without the value itself, which may be a secret; nil if nothing is.
    ///
    /// - Parameter path: where the value is, for the message.
    func problem(of value: JSONValue, at path: String) -> String? {
        switch (self, value) {
        case (.any, _), (.boolean, .bool), (.optional, .null): nil
        case (.optional(let schema), _), (.named(_, let schema), _): schema.problem(of: value, at: path)
        case (.text(let text), .string(let string)): text.problem(of: string).map { "\(path): \($0)" }
        case (.choice(let names), .string(let string)):
            names.contains(string) ? nil : "\(path): expected \(Self.list(names)), got another text"
        case (.integer(let range), .number(let number)):
            number.rounded() == number && number >= Double(range.lowerBound) && number <= Double(range.upperBound)
                ? nil : "\(path): expected a whole number of \(range.lowerBound) to \(range.upperBound), got another"
        case (.number(let range), .number(let number)):
            range.contains(number)
                ? nil : "\(path): expected \(range.lowerBound) to \(range.upperBound), got another number"
        case (.list(let schema, let most), .array(let elements)):
            elements.count > most
                ? "\(path): expected at most \(most) elements, got \(elements.count)"
                : elements.enumerated().lazy.compactMap { schema.problem(of: $1, at: "\(path)[\($0)]") }.first
        case (.object(let fields), .object(let values)): Self.problem(of: values, fields: fields, at: path)
        default: "\(path): expected \(expected), got \(value.sort)"
        }
    }

    private static func problem(of values: [String: JSONValue], fields: [Field], at path: String) -> String? {
        if let unknown = Set(values.keys).subtracting(fields.map(\.name)).min() {
            let names = fields.map(\.name).joined(separator: ", ")
            return "\(path): expected no fields but \(names), got '\(unknown.prefix(100))'"
        }
        for field in fields {
            guard let value = values[field.name] else {
                if field.isRequired { return "\(field.name): expected \(field.schema.expected), got nothing" }
                continue
            }
            if let problem = field.schema.problem(of: value, at: field.name) { return problem }
        }
        return nil
    }

    private static func list(_ names: [String]) -> String {
        names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }

    private var expected: String {
        switch self {
        case .text: "a text"
        case .choice(let names): Self.list(names)
        case .integer: "a whole number"
        case .number: "a number"
        case .boolean: "true or false"
        case .any: "JSON"
        case .object: "an object"
        case .list: "a list"
        case .optional(let schema): "\(schema.expected) or null"
        case .named(_, let schema): schema.expected
        }
    }
}

extension Schema.Text {
    func problem(of text: String) -> String? {
        let count = text.unicodeScalars.count
        if !length.contains(count) {
            return "expected \(length.lowerBound) to \(length.upperBound) characters, got \(count)"
        }
        return form?.matches(text) == false ? "expected a text of the form \(form?.rawValue ?? ""), got another" : nil
    }
}

extension Schema.Form {
    func matches(_ text: String) -> Bool {
        switch self {
        case .name: text.wholeMatch(of: /[a-z][a-z0-9_.\-]*/) != nil
        case .visible: text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        case .seconds: text.wholeMatch(of: /([0-9]|[1-5][0-9]|60)s/) != nil
        case .time:
            text.wholeMatch(
                of: /[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+\-][0-9]{2}:[0-9]{2})/)
                != nil
        case .withoutNUL: !text.utf8.contains(0)
        }
    }
}

extension JSONValue {
    fileprivate var sort: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .number: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
