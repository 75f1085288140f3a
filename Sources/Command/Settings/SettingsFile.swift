import Configuration
import Foundation
import SystemPackage

/// The JSON file with settings: `{"errand": {"queues": "default=20", "log": {"format": "json"}}}`.
struct SettingsFile: Sendable {
    private let path: String
    private let keys: Set<String>
    private let reader: ConfigReader?

    /// Reads it. One that isn't there is an empty one, unless it must exist.
    ///
    /// - Throws: ``ConfigurationError`` where it can't be read, isn't a JSON object, or has a key that is no setting.
    init(_ path: String, mustExist: Bool) async throws {
        self.path = path
        guard mustExist || FileManager.default.fileExists(atPath: path) else {
            keys = []
            reader = nil
            return
        }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(path.printable): expected a JSON file with settings, got none that can be read")
        }
        guard let object = try? JSONSerialization.jsonObject(with: bytes) as? [String: Any] else {
            throw ConfigurationError("\(path.printable): expected a JSON object with settings, got something else")
        }
        keys = Set(Self.keys(of: object, below: ""))
        let known = Set(Setting.all.map(\.key))
        for key in keys.sorted() where !known.contains(key) {
            throw ConfigurationError.unknown("setting in \(path.printable):", key, among: known)
        }
        do {
            reader = ConfigReader(provider: try await FileProvider<JSONSnapshot>(filePath: FilePath(path)))
        } catch {
            throw ConfigurationError("\(path.printable): expected texts, numbers, true and false, got something else")
        }
    }

    /// The value of a setting as an environment variable would have it; nil where the file doesn't have it.
    ///
    /// - Throws: ``ConfigurationError`` where the value is neither a text nor a whole number nor true nor false.
    func text(of setting: Setting) throws -> String? {
        guard let reader, keys.contains(setting.key) else { return nil }
        let key = ConfigKey(setting.key)
        let text =
            reader.string(forKey: key) ?? reader.int(forKey: key).map(String.init)
            ?? reader.bool(forKey: key).map(String.init)
        guard let text else {
            throw ConfigurationError(
                "\(setting.key): expected \(setting.expected), got another kind of JSON (file \(path.printable))")
        }
        return text
    }

    private static func keys(of value: Any, below prefix: String) -> [String] {
        guard let fields = value as? [String: Any] else { return [prefix] }
        return fields.flatMap { keys(of: $0.value, below: prefix.isEmpty ? $0.key : "\(prefix).\($0.key)") }
    }
}
