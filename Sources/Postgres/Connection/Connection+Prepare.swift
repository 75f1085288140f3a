import CLibpq

/// What decides how a connection runs its statements.
struct Session {
    /// Whether no pooler stands between, whose next transaction may run on another session.
    var isDirect: Bool
    /// Whether transactions begin at READ COMMITTED, for which the statements of this program are written.
    var isReadCommitted: Bool
}

/// The statements that are prepared on one connection, by name.
struct PreparedStatements {
    private var names: [String: String] = [:]

    func name(of statement: Statement) -> String? { statement.isPrepared ? names[statement.sql] : nil }

    /// The name for the next statement.
    func nextName() -> String { "errand_\(names.count + 1)" }

    mutating func add(_ name: String, for sql: String) { names[sql] = name }
}

extension Connection {
    /// What the connection's first statement finds out, at the cost of a round trip.
    func session(
        on connection: OpaquePointer, until limit: ContinuousClock.Instant?
    ) throws(PostgresError) -> Session {
        if let known = checkedSession { return known }
        let reply = try response(on: connection, until: limit) {
            PQsendQueryParams($0, Self.sessionCheck, 0, nil, nil, nil, nil, 0)
        }
        defer { PQclear(reply) }
        let values = (0..<2).map { column in
            PQresultStatus(reply) == PGRES_TUPLES_OK ? PQgetvalue(reply, 0, column).map { String(cString: $0) } : nil
        }
        // A pooler invents a process id for its client.
        let session = Session(
            isDirect: values[0] == "\(serverProcess)",
            isReadCommitted: values[1].map { $0 == "read committed" } ?? true)
        checkedSession = session
        return session
    }

    private static let sessionCheck = """
        select pg_catalog.pg_backend_pid(), pg_catalog.current_setting('default_transaction_isolation')
        """

    /// Prepares `statement` on this connection, if it isn't prepared yet. Costs a round trip for a statement's first
    /// run.
    func prepare(
        _ statement: Statement, on connection: OpaquePointer, until limit: ContinuousClock.Instant?
    ) throws(PostgresError) {
        guard preparedStatements.name(of: statement) == nil else { return }
        let name = preparedStatements.nextName()
        let types = EncodedParameters(statement.parameters).types
        let prepared = try response(on: connection, until: limit) {
            PQsendPrepare($0, name, statement.sql, Int32(types.count), types)
        }
        defer { PQclear(prepared) }
        // If the server refuses it, it will refuse the statement itself too, and that error reaches the caller.
        if PQresultStatus(prepared) == PGRES_COMMAND_OK { preparedStatements.add(name, for: statement.sql) }
    }

    /// Resets the session: settings, temporary objects, locks, prepared statements and all else that outlives a
    /// transaction.
    package func reset() async throws(PostgresError) {
        preparedStatements = PreparedStatements()
        try await script("discard all")
    }

    /// Something between client and server loses names (26000, invalid_sql_statement_name): then none is used any more.
    func stopPreparing(after error: PostgresError) {
        guard error.sqlState == "26000" else { return }
        checkedSession?.isDirect = false
        preparedStatements = PreparedStatements()
    }

    private func response(
        on connection: OpaquePointer, until limit: ContinuousClock.Instant?, to send: (OpaquePointer) -> Int32
    ) throws(PostgresError) -> OpaquePointer? {
        guard send(connection) == 1 else { throw lost(connection, isOutcomeUnknown: false) }
        do {
            let results = try results(on: connection, until: limit)
            results.dropFirst().forEach { PQclear($0) }
            return results.first
        } catch {
            // The caller's statement was not sent.
            throw PostgresError(error.code, error.detail, sqlState: error.sqlState, hint: error.hint)
        }
    }
}
