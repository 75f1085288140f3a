import Postgres
import Schema

extension Migrator {
    /// The migrator of this version's schema.
    static let errand = Migrator(
        version: Schema.version, migrations: Schema.migrations.map { ($0.name, $0.sql) },
        replaceable: Schema.replaceable.map { ($0.name, $0.sql) })

    /// Returns where this program can run on the database: it has its schema, or a newer one that it can bear. 5 ms.
    ///
    /// Who may enqueue but not look into errand.migration isn't asked: the functions that he calls say what they lack.
    ///
    /// - Returns: the version that has migrated the database, where it is newer than this program.
    /// - Throws: ``Failure`` that names `errand migrate` where the schema is missing or older; ``PostgresError`` with code
    ///   `schema` where it is newer than this program can bear.
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
