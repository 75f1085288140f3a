import Errand
import Foundation
import Logging
import Postgres
import Schema

/// What every command starts from: the settings in force, and what they make.
struct Environment: Sendable {
    let settings: Settings
    let logger: Logger

    static func load() async throws -> Environment {
        let settings = try await Settings.load()
        let level = try settings.value(.logLevel) { Logger.Level(rawValue: $0) }
        let format = try settings.value(.logFormat) { LineLog.Format(rawValue: $0) }
        return Environment(
            settings: settings, logger: Logger(label: "errand") { _ in LineLog(format: format, level: level) })
    }

    /// How to reach the database.
    func database() throws -> PostgresConfiguration {
        let url = try settings.value(.databaseURL) { $0 }
        do {
            var configuration = try PostgresConfiguration(url: url)
            configuration.applicationName = "errand"
            return configuration
        } catch {
            throw ConfigurationError("DATABASE_URL: \(error.detail)" + (error.hint.map { " (\($0))" } ?? ""))
        }
    }

    /// Runs `body` with one connection, for commands that do one thing.
    func withConnection<T: Sendable>(
        statementTimeout: Duration? = .seconds(30), _ body: (Connection) async throws -> T
    ) async throws -> T {
        var configuration = try database()
        configuration.statementTimeout = statementTimeout
        let connection = try await Connection.connect(configuration, logger: logger)
        do {
            let result = try await body(connection)
            await connection.close()
            return result
        } catch {
            await connection.close()
            throw error
        }
    }
}

extension Migrator {
    /// The migrator of this version's schema.
    static let errand = Migrator(
        migrations: Schema.migrations.map { ($0.name, $0.sql) },
        replaceable: Schema.replaceable.map { ($0.name, $0.sql) })
}

/// A value as JSON in one line, keys sorted.
func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}
