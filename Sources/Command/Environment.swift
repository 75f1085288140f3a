import Errand
import ErrandStorage
import Foundation
import Logging
import Postgres

/// The basis of every command: the settings in force, and what is made of them.
struct Environment: Sendable {
    let settings: Settings
    let logger: Logger
    let logFormat: LineLog.Format

    static func load() throws -> Environment {
        let settings = try Settings.load()
        let level = try settings.value(.logLevel) { Logger.Level(rawValue: $0) }
        let format = try settings.value(.logFormat) { LineLog.Format(rawValue: $0) }
        return Environment(
            settings: settings, logger: Logger(label: "errand") { _ in LineLog(format: format, level: level) },
            logFormat: format)
    }

    /// How to reach the database, for a command that is about one.
    func database() throws -> PostgresConfiguration { try database(.databaseURL) }

    /// How to reach the database whose URL is that setting.
    ///
    /// - Throws: ``ConfigurationError`` if it has several.
    func database(_ setting: Setting) throws -> PostgresConfiguration {
        let urls = try urls(of: setting)
        guard urls.count == 1 else {
            throw ConfigurationError(
                "\(setting.variable): expected one database for this command, got \(urls.count); set it to the one that "
                    + "the command is about. Several are for run, worker, scheduler, web, migrate and doctor")
        }
        return try configuration(urls[0], at: setting.variable)
    }

    private func urls(of setting: Setting) throws -> [String] {
        guard let urls = DatabaseURLs(try settings.value(setting) { $0 }) else {
            throw ConfigurationError(
                "\(setting.variable): expected a URL, or several with spaces between, got something else")
        }
        return urls.all
    }

    private func configuration(_ url: String, at location: String) throws -> PostgresConfiguration {
        do {
            var configuration = try PostgresConfiguration(url: url).forOwnStatements
            configuration.applicationName = "errand"
            return configuration
        } catch {
            throw ConfigurationError("\(location): \(error.detail)" + (error.hint.map { " (\($0))" } ?? ""))
        }
    }

    /// The databases of DATABASE_URL, at least one.
    ///
    /// - Throws: ``ConfigurationError`` if a URL can't be parsed, or if two lead to the same database.
    func cells() throws -> [Cell] {
        let setting = Setting.databaseURL
        let urls = try urls(of: setting)
        guard urls.count > 1 else { return [Cell(configuration: try database(), logger: logger)] }
        let configurations = try urls.enumerated().map { index, url in
            try configuration(url, at: "\(setting.variable), URL \(index + 1) of \(urls.count)")
        }
        var names: Set<String> = []
        for configuration in configurations where !names.insert(configuration.location).inserted {
            throw ConfigurationError(
                "\(setting.variable): expected each database once, got \(configuration.location) twice")
        }
        return configurations.map { Cell(name: $0.location, configuration: $0, logger: logger) }
    }

    /// The identity of the database's object store, read from the database once.
    func storeIdentity(of configuration: PostgresConfiguration) -> StoreIdentity {
        StoreIdentity {
            try await withConnection(to: configuration, needsSchema: false) { connection in
                try await connection.query("select media.store_v1()").scalar(UUID?.self)
            }
        }
    }

    /// Runs `body` with one connection, for commands that do one thing.
    ///
    /// - Parameter needsSchema: whether to throw before `body` if the database doesn't have this program's schema.
    func withConnection<T: Sendable>(
        to setting: Setting = .databaseURL, statementTimeout: Duration? = .seconds(30), needsSchema: Bool = true,
        _ body: (Connection) async throws -> T
    ) async throws -> T {
        try await withConnection(
            to: database(setting), statementTimeout: statementTimeout, needsSchema: needsSchema, body)
    }

    /// The same with a database that isn't that of a setting.
    func withConnection<T: Sendable>(
        to configuration: PostgresConfiguration, statementTimeout: Duration? = .seconds(30), needsSchema: Bool = true,
        _ body: (Connection) async throws -> T
    ) async throws -> T {
        var configuration = configuration
        configuration.statementTimeout = statementTimeout
        let connection = try await Connection.connect(configuration, logger: logger)
        do {
            if needsSchema { try await requireSchema(on: connection) }
            let result = try await body(connection)
            await connection.close()
            return result
        } catch {
            await connection.close()
            throw error
        }
    }
}

/// A value as JSON in one line, keys sorted.
func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self).controlsEscaped
}
