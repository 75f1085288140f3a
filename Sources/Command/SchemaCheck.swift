import AppSchemas
import EngineSchema
import Jobs
import Postgres

extension Environment {
    /// The migrator of this version's schema: the engine and the apps of ERRAND_APPS.
    ///
    /// - Throws: ``ConfigurationError`` for unknown apps, and if an app lacks one that it needs.
    func migrator() throws -> Migrator {
        let migrator = EngineSchema.migrator(with: try settings.apps())
        return StandIn.isOn ? migrator.rewritten(for: StandIn.version) : migrator
    }
}

extension Environment {
    /// The apps whose jobs and schedules run here.
    func jobApps() throws -> Set<AllJobs.App> { Set(try settings.apps().compactMap { AllJobs.App(rawValue: $0.name) }) }
}

extension Settings {
    /// The apps of ERRAND_APPS, those that others need first.
    ///
    /// - Throws: ``ConfigurationError`` for an unknown app, and if an app lacks one that it needs.
    func apps() throws -> [SchemaPart] {
        do {
            return try AppSchemas.named(value(.apps, parseApps))
        } catch let error as UnknownApp {
            throw ConfigurationError("ERRAND_APPS: \(error)")
        } catch let error as MissingApp {
            throw ConfigurationError("ERRAND_APPS: \(error)")
        }
    }

    private func parseApps(_ text: String) -> [String]? {
        switch text {
        case "all": AppSchemas.names
        case "none": []
        default: text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingPrefix(" ").description }
        }
    }
}

extension Migrator {
    /// Returns if this program can run on the database: the schema is its own, or a compatible newer one. Takes 5 ms.
    ///
    /// Users without the right to read errand.migration aren't checked: the functions that they call report errors.
    ///
    /// - Returns: the version that has migrated the database, if it is newer than this program.
    /// - Throws: ``Failure`` that names `errand migrate` if the schema is missing or older; ``PostgresError`` with code
    ///   `schema` if it is too new.
    @discardableResult
    func require(on connection: Connection) async throws -> String? {
        let fit: SchemaFit
        do {
            fit = try await self.fit(on: connection)
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
