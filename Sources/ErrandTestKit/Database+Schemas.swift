import Postgres

extension Database {
    /// Drops the engine's schema and those of the apps: then it is like a database that never had Errand.
    package func dropSchemas() async throws {
        let schemas = try await query("select oid::regnamespace::text from unnest(errand_internal.namespaces()) as oid")
        for schema in try schemas.column(0, as: String.self) {
            try await execute(Statement("drop schema \(schema) cascade"))
        }
    }
}
