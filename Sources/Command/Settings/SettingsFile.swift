import Errand
import Foundation

/// The JSON file with settings: `{"errand": {"queues": "default=20", "log": {"format": "json"}}}`.
///
/// Not read by the configuration library's provider, which on Linux reads `false` as 0 and `2.5` as true.
struct SettingsFile: Sendable {
    private let path: String
    private var values: [String: JSONValue] = [:]
    /// A list of URLs in place of `database.url`.
    private static let cells = "cells"

    /// Reads the file. A missing file is empty, unless it must exist.
    ///
    /// - Throws: ``ConfigurationError`` if it can't be read, isn't a JSON object, or has a key that is no setting.
    init(_ path: String, mustExist: Bool) throws {
        self.path = path
        guard mustExist || FileManager.default.fileExists(atPath: path) else { return }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(path.printable): expected a JSON file with settings, got none that can be read")
        }
        guard case .object(let fields)? = try? JSONValue(JSONB(bytes: Array(bytes))) else {
            throw ConfigurationError("\(path.printable): expected a JSON object with settings, got something else")
        }
        add(fields, below: "")
        let known = Set(Setting.all.map(\.key) + [Self.cells])
        guard values[Self.cells] == nil || values[Setting.databaseURL.key] == nil else {
            throw ConfigurationError(
                "\(path.printable): expected \(Self.cells) or \(Setting.databaseURL.key), got both")
        }
        for key in values.keys.sorted() where !known.contains(key) {
            throw ConfigurationError.unknown("setting in \(path.printable):", key, among: known)
        }
    }

    /// The value of a setting as an environment variable would have it; nil if the file doesn't have it.
    ///
    /// - Throws: ``ConfigurationError`` if the value is neither a text nor a whole number nor true nor false.
    func text(of setting: Setting) throws -> String? {
        if setting.key == Setting.databaseURL.key, let cells = values[Self.cells] { return try urls(cells) }
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

    /// As DATABASE_URL has them.
    private func urls(_ cells: JSONValue) throws -> String {
        let urls: [String]? =
            if case .array(let values) = cells {
                values.reduce(into: [] as [String]?) { urls, value in
                    guard case .string(let url) = value, DatabaseURLs.isURL(url) else { return urls = nil }
                    urls?.append(url)
                }
            } else {
                nil
            }
        guard let urls, !urls.isEmpty else {
            throw ConfigurationError(
                "\(Self.cells): expected a list of \(Setting.databaseURL.expected), got something else "
                    + "(file \(path.printable))")
        }
        return urls.joined(separator: " ")
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
