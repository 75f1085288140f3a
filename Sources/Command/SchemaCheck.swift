import AppSchemas
import EngineSchema
import Postgres

extension Environment {
    /// The migrator of this version's schema: the engine, the apps that the database has, and those to add.
    ///
    /// - Throws: ``ConfigurationError`` for unknown apps to add, and if one lacks an app that it needs.
    func migrator(for connection: Connection, adding apps: [String] = []) async throws -> Migrator {
        try migrator(of: try await connection.installedApps().filter(AppSchemas.names.contains) + apps)
    }

    /// The migrator of the engine and these apps.
    func migrator(of apps: [String]) throws -> Migrator {
        let parts: [SchemaPart]
        do {
            parts = try AppSchemas.named(apps)
        } catch let error as UnknownApp {
            throw ConfigurationError("--apps: \(error)")
        } catch let error as MissingApp {
            throw ConfigurationError("--apps: \(error)")
        }
        let migrator = EngineSchema.migrator(with: parts)
        return StandIn.isOn ? migrator.rewritten(for: StandIn.version) : migrator
    }

    /// Returns if this program can run on the database: the schema is its own, or a compatible newer one. Takes 5 ms.
    ///
    /// Users without the right to read errand.migration aren't checked: the functions that they call report errors.
    ///
    /// - Returns: the version that has migrated the database, if it is newer than this program.
    /// - Throws: ``Failure`` that names `errand migrate` if the schema is missing or older; ``PostgresError`` with code
    ///   `schema` if it is too new.
    @discardableResult
    func requireSchema(on connection: Connection) async throws -> String? {
        let fit: SchemaFit
        do {
            fit = try await migrator(for: connection).fit(on: connection)
        } catch let error as PostgresError where error.sqlState == "42501" {
            return nil
        }
        guard let first = fit.lacks.first else { return fit.newer }
        let rest = fit.lacks.count > 1 ? " and \(fit.lacks.count - 1) more" : ""
        if let newer = fit.newer {
            throw Failure(
                code: Failure.misconfigured,
                "the database was migrated by errand \(newer), and lacks \(first)\(rest) of this program: run that one")
        }
        throw Failure(
            code: Failure.misconfigured,
            "the database's schema is missing or older: it lacks \(first)\(rest) of this program; run `errand migrate`")
    }
}

extension Connection {
    /// The apps that the database has; none without the schema `errand`.
    func installedApps() async throws -> [String] {
        guard try await query("select to_regclass('errand.app') is not null").scalar(Bool.self) else { return [] }
        return try await query("select name from errand.app order by name").column(0, as: String.self)
    }
}
