import EngineSchema
import Postgres
import Synchronization

extension Queue {
    /// Creates the schema `errand`, or upgrades it to this version of the library.
    ///
    /// ```swift
    /// let queue = Queue(database: database)
    /// try await queue.migrate()
    /// try await worker.run()
    /// ```
    /// Idempotent. Each process may call it before its worker starts, any number at the same time: one does the work,
    /// and the others wait. Jobs may run meanwhile. No other schema is changed. A schema that a newer version has
    /// upgraded stays as it is, and this version runs on it.
    ///
    /// The database's user needs the right to create a schema, and then owns it. Five roles without login are created
    /// for workers, applications and operators. A user who may not create roles gets a warning, and works as the owner.
    ///
    /// - Returns: what was applied, and what the user was not allowed to do.
    /// - Throws: ``PostgresError``. Its code is `schema` if another program has a schema `errand`, or if a newer
    ///   version has dropped what this one needs. Then nothing is changed. After any other error, call it again.
    /// - Complexity: one connection, beside those of the pool. Some seconds the first time, and some 50 ms where
    ///   nothing is new.
    @discardableResult
    public func migrate() async throws -> Migration {
        let warnings = Mutex<[String]>([])
        let steps = try await withSchemaConnection { connection in
            let migrator = EngineSchema.migrator()
            let fit = try await migrator.fit(on: connection)
            if fit.newer != nil, fit.lacks.isEmpty { return [Migrator.Step]() }
            return try await migrator.run(
                on: connection, onWarning: { text in warnings.withLock { $0.append(text) } })
        }
        return Migration(applied: steps.map(\.name), warnings: warnings.withLock(\.self))
    }

    /// Whether the database has a schema on which this version runs: its own, or that of a newer version.
    ///
    /// - Throws: ``PostgresError``. Its code is `schema` if a newer version has dropped what this one needs, or
    ///   if an applied migration was edited.
    /// - Complexity: one connection and a few round trips, some 20 ms.
    public func isMigrated() async throws -> Bool {
        try await withSchemaConnection { connection in
            try await EngineSchema.migrator().fit(on: connection).lacks.isEmpty
        }
    }

    /// What ``Queue/migrate()`` did.
    public struct Migration: Sendable, Hashable {
        /// The migrations, functions and views that were applied, by name. Empty if the schema was up to date.
        public let applied: [String]
        /// What the database's user was not allowed to do, each with the statement that fixes it. Jobs run without it.
        public let warnings: [String]
    }

    private func withSchemaConnection<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        let connection = try await database.makeConnection(hasTimeout: false)
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
