import Configuration
import Foundation
import SystemPackage

/// All settings, as they are in force: the environment first, then a file, then the defaults.
struct Settings: Sendable {
    /// Where a value came from.
    enum Origin: Sendable, CustomStringConvertible {
        case environment(String)
        case file(String)
        case fallback

        var description: String {
            switch self {
            case .environment(let variable): "environment \(variable)"
            case .file(let path): "file \(path)"
            case .fallback: "default"
            }
        }
    }

    private var values: [String: (text: String, origin: Origin)] = [:]

    /// Reads the environment and the file that `ERRAND_CONFIG` names, or `errand.json` where there is one.
    ///
    /// - Throws: ``ConfigurationError`` for a setting that doesn't exist, and for a file that can't be read.
    static func load(environment: [String: String] = ProcessInfo.processInfo.environment) async throws -> Settings {
        var settings = Settings()
        let named = environment["ERRAND_CONFIG"]
        let path = named ?? "errand.json"
        try refuseUnknown(variables: environment.keys)
        let variables = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: environment))
        let file = try await readFile(path, mustExist: named != nil)
        for setting in Setting.all {
            let key = ConfigKey(setting.key)
            if let text = variables.string(forKey: key) {
                settings.values[setting.key] = (text, .environment(setting.variable))
            } else if let text = file.string(forKey: key) ?? file.int(forKey: key).map(String.init)
                ?? file.bool(forKey: key).map(String.init)
            {
                settings.values[setting.key] = (text, .file(path))
            } else if let fallback = setting.fallback {
                settings.values[setting.key] = (fallback, .fallback)
            }
        }
        return settings
    }

    /// The text of a setting and where it came from; nil where it is unset and has no default.
    func value(_ setting: Setting) -> (text: String, origin: Origin)? { values[setting.key] }

    /// A setting as `parse` makes it.
    ///
    /// - Throws: ``ConfigurationError`` with its name, what was expected, what came and where, if `parse` answers nil.
    func value<T>(_ setting: Setting, _ parse: (String) -> T?) throws -> T {
        guard let (text, origin) = value(setting) else {
            throw ConfigurationError(
                "\(setting.variable) is not set: expected \(setting.expected) (\(setting.purpose))")
        }
        guard let parsed = parse(text) else {
            let shown = setting.isSecret ? "something else" : "'\(text.printable)'"
            throw ConfigurationError("\(setting.variable): expected \(setting.expected), got \(shown) (\(origin))")
        }
        return parsed
    }
}

// MARK: - Reading
extension Settings {
    private static func readFile(_ path: String, mustExist: Bool) async throws -> ConfigReader {
        do {
            if mustExist || FileManager.default.fileExists(atPath: path) { try refuseUnknown(keysIn: path) }
            return ConfigReader(
                provider: try await FileProvider<JSONSnapshot>(filePath: FilePath(path), allowMissing: !mustExist))
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError("\(path): expected a JSON file with settings, got: \(error)".printable)
        }
    }

    /// Variables that scripts and tests of this project use, and no settings.
    private static let others: Set<String> = [
        "ERRAND_CONFIG", "ERRAND_TEST_DATABASE_URL", "ERRAND_CLUSTER_URL", "ERRAND_BIN", "ERRAND_FAULTS",
    ]

    private static func refuseUnknown(variables: some Sequence<String>) throws {
        let known = Set(Setting.all.map(\.variable))
        for variable in variables.sorted() where variable.hasPrefix("ERRAND_") {
            guard !known.contains(variable), !others.contains(variable) else { continue }
            throw ConfigurationError.unknown("environment variable", variable, among: known)
        }
    }

    private static func refuseUnknown(keysIn path: String) throws {
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        let known = Set(Setting.all.map(\.key))
        for key in keys(of: object, below: "").sorted() where !known.contains(key) {
            throw ConfigurationError.unknown("setting in \(path)", key, among: known)
        }
    }

    private static func keys(of object: Any, below prefix: String) -> [String] {
        guard let fields = object as? [String: Any] else { return [prefix] }
        return fields.flatMap { keys(of: $0.value, below: prefix.isEmpty ? $0.key : "\(prefix).\($0.key)") }
    }
}

/// A setting that can't be used. Its text is one line: name, expected, came, where.
struct ConfigurationError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    static func unknown(_ what: String, _ name: String, among known: some Collection<String>) -> ConfigurationError {
        let near = known.closest(to: name)
        return ConfigurationError(
            "unknown \(what) \(name.printable)" + (near.map { "; did you mean \($0)?" } ?? "; see `errand config`"))
    }
}
