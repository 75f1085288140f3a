import Errand
import Foundation

/// The JSON file with settings: `{"errand": {"queues": "default=20", "log": {"format": "json"}}}`.
///
/// Not read by the configuration library's provider, which on Linux reads `false` as 0 and `2.5` as true.
struct SettingsFile: Sendable {
    private let path: String
    private var values: [String: JSONValue] = [:]

    /// Reads the file. A missing file is empty, unless it must exist.
    ///
    /// - Throws: ``ConfigurationError`` if it can't be read, isn't a JSON object, or has a key that is no setting.
    init(_ path: String, mustExist: Bool) throws {
        self.path = path
        guard mustExist || FileManager.default.fileExists(atPath: path) else { return }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(path.printable): expected a JSON file with settings, got none that can be read")
        }
        guard case .object(let fields)? = try? JSONDecoder().decode(JSONValue.self, from: bytes) else {
            throw ConfigurationError("\(path.printable): expected a JSON object with settings, got something else")
        }
        add(fields, below: "")
        let known = Set(Setting.all.map(\.key))
        for key in values.keys.sorted() where !known.contains(key) {
            throw ConfigurationError.unknown("setting in \(path.printable):", key, among: known)
        }
    }

    /// The value of a setting as an environment variable would have it; nil if the file doesn't have it.
    ///
    /// - Throws: ``ConfigurationError`` if the value is neither a text nor a whole number nor true nor false.
    func text(of setting: Setting) throws -> String? {
        switch values[setting.key] {
        case nil: return nil
        case .string(let text): return text
        case .bool(let value): return "\(value)"
        case .number(let number):
            if let whole = Int(exactly: number) { return "\(whole)" }
        case .null, .array, .object: break
        }
        throw ConfigurationError(
            "\(setting.key): expected \(setting.expected), got another kind of JSON (file \(path.printable))")
    }

    private mutating func add(_ fields: [String: JSONValue], below prefix: String) {
        for (name, value) in fields {
            let key = prefix.isEmpty ? name : "\(prefix).\(name)"
            if case .object(let inner) = value, !inner.isEmpty {
                add(inner, below: key)
            } else {
                values[key] = value
            }
        }
    }
}
