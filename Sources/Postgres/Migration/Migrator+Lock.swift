extension Migrator {
    /// Runs a transaction that overlaps with no other run's.
    func locked<T: Sendable>(
        _ connection: Connection, _ body: (Transaction) async throws -> T
    ) async throws -> T {
        try await connection.transaction { transaction in
            try await transaction.execute(
                Statement(
                    "select pg_catalog.set_config(name, value, true) from unnest($1, $2) as setting(name, value)",
                    [Self.settings.map(\.0), Self.settings.map(\.1)]))
            // Only the table's owner may take this lock; an advisory lock could be held by any role that may connect.
            // If two runs both find no table, the second one to create it is repeated.
            let exists = try await connection.query("select to_regclass('errand.migration') is not null")
            if try exists.scalar(Bool.self) { try await lock(connection) }
            try await transaction.execute(
                Statement("select set_config('lock_timeout', $1, true)", ["\(lockTimeout.wholeMicroseconds / 1000)ms"]))
            return try await body(transaction)
        }
    }

    /// A migration may take long, and it waits for another run to end. Its scripts name their schemas, so that it never
    /// calls, with its rights, what others have in a schema of the search path. Behind a pooler a connection's own
    /// settings may be missing.
    static let settings = [
        ("statement_timeout", "0"), ("search_path", "pg_catalog, pg_temp"), ("standard_conforming_strings", "on"),
        ("plpgsql.extra_errors", "none"),
    ]

    func lock(_ connection: Connection) async throws(PostgresError) {
        try await connection.execute(
            Statement("lock table errand.migration in share row exclusive mode"), deadline: .seconds(3600))
    }

    /// Lock not available, deadlock: another session uses the table. A queued lock request would block all later
    /// sessions.
    static let statesOfWaits: Set<String?> = ["55P03", "40P01"]

    /// Unique violation, duplicate schema, duplicate table: another session creates the same object at this moment.
    static let statesOfDuplicates: Set<String?> = ["23505", "42P06", "42P07"]

    func retried<T: Sendable>(after states: Set<String?> = statesOfWaits, _ body: () async throws -> T)
        async throws -> T
    {
        var backoff = Backoff(first: .milliseconds(100), cap: .seconds(2))
        for _ in 1..<30 {
            do {
                return try await body()
            } catch let error as PostgresError where states.contains(error.sqlState) {
                try await Task.sleep(for: backoff.next())
            }
        }
        return try await body()
    }
}
