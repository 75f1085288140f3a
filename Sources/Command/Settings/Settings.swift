import Configuration
import Foundation

/// All settings in force: from the environment, then a file, then the defaults.
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

    /// Reads the environment and the file that `ERRAND_CONFIG` names, or `errand.json` if there is one.
    ///
    /// - Throws: ``ConfigurationError`` for a setting that doesn't exist, for a value that isn't what is expected, and
    ///   for a file that can't be read.
    static func load(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> Settings {
        var settings = Settings()
        let named = environment["ERRAND_CONFIG"]
        let path = named ?? "errand.json"
        try refuseUnknown(variables: environment)
        let variables = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: environment))
        let file = try SettingsFile(path, mustExist: named != nil)
        for setting in Setting.all {
            if let text = variables.string(forKey: ConfigKey(setting.key)) {
                settings.values[setting.key] = (text, .environment(setting.variable))
            } else if let text = try file.text(of: setting) {
                settings.values[setting.key] = (text, .file(path))
            } else if let fallback = setting.fallback {
                settings.values[setting.key] = (fallback, .fallback)
            }
            if let (text, origin) = settings.value(setting), !setting.accepts(text) {
                throw ConfigurationError.malformed(setting, text, origin)
            }
        }
        return settings
    }

    /// The text of a setting and where it came from; nil if it is unset and has no default.
    func value(_ setting: Setting) -> (text: String, origin: Origin)? { values[setting.key] }

    /// A setting as `parse` makes it.
    ///
    /// - Throws: ``ConfigurationError`` with its name, what was expected, what came and where, if `parse` returns nil.
    func value<T>(_ setting: Setting, _ parse: (String) -> T?) throws -> T {
        guard let (text, origin) = value(setting) else {
            throw ConfigurationError(
                "\(setting.variable) is not set: expected \(setting.expected) (\(setting.purpose))")
        }
        guard let parsed = parse(text) else {
            throw ConfigurationError.malformed(setting, text, origin)
        }
        return parsed
    }
}

// MARK: - Reading
extension Settings {
    /// Variables of this project's scripts and tests, which are no settings. Nor are those that begin with
    /// `ERRAND_TEST_`.
    private static let others: Set<String> = [
        "ERRAND_CONFIG", "ERRAND_CLUSTER_URL", "ERRAND_BIN", "ERRAND_FAULTS", "ERRAND_PREVIOUS", "ERRAND_WALK_SEED",
        "ERRAND_WALK_SECONDS", "ERRAND_WALK_RULE",
    ]

    private static func refuseUnknown(variables: [String: String]) throws {
        let known = Set(Setting.all.map(\.variable))
        for (variable, value) in variables.sorted(by: { $0.key < $1.key }) where variable.hasPrefix("ERRAND_") {
            guard !known.contains(variable), !others.contains(variable), !variable.hasPrefix("ERRAND_TEST_"),
                !isOfKubernetes(variable, value)
            else {
                continue
            }
            throw ConfigurationError.unknown("environment variable", variable, among: known)
        }
    }

    /// Kubernetes sets variables for each service in a namespace, including one that is called `errand`.
    private static func isOfKubernetes(_ variable: String, _ value: String) -> Bool {
        variable.hasSuffix("_SERVICE_HOST") || variable.hasSuffix("_SERVICE_PORT")
            || variable.contains("_SERVICE_PORT_")
            || variable.hasSuffix("_PORT") && value.contains("://")
            || ["_TCP", "_UDP", "_SCTP"].contains { variable.contains($0) && variable.contains("_PORT_") }
    }
}

/// A malformed setting. The description is one line: name, expected form, value, origin.
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

    static func malformed(_ setting: Setting, _ text: String, _ origin: Settings.Origin) -> ConfigurationError {
        let shown = setting.mayShow(text) ? "'\(text.prefix(200).description.printable)'" : "something else"
        return ConfigurationError("\(setting.variable): expected \(setting.expected), got \(shown) (\(origin))")
    }
}

extension Settings: CustomStringConvertible, CustomReflectable {
    /// Shows no value, so that no log of whatever holds the settings has a secret.
    var description: String { "Settings" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
