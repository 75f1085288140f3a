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

    /// How to reach the database.
    func database() throws -> PostgresConfiguration { try database(.databaseURL) }

    /// How to reach the database whose URL is that setting.
    func database(_ setting: Setting) throws -> PostgresConfiguration {
        let url = try settings.value(setting) { $0 }
        do {
            var configuration = try PostgresConfiguration(url: url)
            configuration.applicationName = "errand"
            return configuration
        } catch {
            throw ConfigurationError("\(setting.variable): \(error.detail)" + (error.hint.map { " (\($0))" } ?? ""))
        }
    }

    /// The identity of the database's object store, read from the database once.
    var storeIdentity: StoreIdentity {
        StoreIdentity {
            try await withConnection(needsSchema: false) { connection in
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
        var configuration = try database(setting)
        configuration.statementTimeout = statementTimeout
        let connection = try await Connection.connect(configuration, logger: logger)
        do {
            if needsSchema { try await migrator().require(on: connection) }
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
