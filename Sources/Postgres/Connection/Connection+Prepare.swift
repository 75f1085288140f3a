import CLibpq

/// The statements that are prepared on one connection, by name.
struct PreparedStatements {
    /// Whether the connection is a direct session of the server; nil until it is checked.
    var isDirect: Bool?
    private var names: [String: String] = [:]

    func name(of statement: Statement) -> String? { statement.isPrepared ? names[statement.sql] : nil }

    /// The name for the next statement.
    func nextName() -> String { "errand_\(names.count + 1)" }

    mutating func add(_ name: String, for sql: String) { names[sql] = name }

    /// Something between client and server loses names (26000, invalid_sql_statement_name): stop using them.
    mutating func failed(_ error: PostgresError) {
        guard error.sqlState == "26000" else { return }
        isDirect = false
        names = [:]
    }
}

extension Connection {
    /// Prepares `statement` on this connection, if it isn't prepared yet. Does nothing behind a pooler, whose next
    /// transaction may run on another session. Costs a round trip for a statement's first run, and one more for a
    /// connection's first statement.
    func prepare(
        _ statement: Statement, on connection: OpaquePointer, until limit: ContinuousClock.Instant?
    ) throws(PostgresError) {
        guard preparedStatements.isDirect != false, preparedStatements.name(of: statement) == nil else { return }
        if preparedStatements.isDirect == nil {
            // A pooler invents a process id for its client.
            let process = try response(on: connection, until: limit) {
                PQsendQueryParams($0, "select pg_backend_pid()", 0, nil, nil, nil, nil, 0)
            }
            defer { PQclear(process) }
            guard PQresultStatus(process) == PGRES_TUPLES_OK else { return }
            preparedStatements.isDirect = PQgetvalue(process, 0, 0).map { String(cString: $0) } == "\(serverProcess)"
            guard preparedStatements.isDirect == true else { return }
        }
        let name = preparedStatements.nextName()
        let types = EncodedParameters(statement.parameters).types
        let prepared = try response(on: connection, until: limit) {
            PQsendPrepare($0, name, statement.sql, Int32(types.count), types)
        }
        defer { PQclear(prepared) }
        // If the server refuses it, it will refuse the statement itself too, and that error reaches the caller.
        if PQresultStatus(prepared) == PGRES_COMMAND_OK { preparedStatements.add(name, for: statement.sql) }
    }

    private func response(
        on connection: OpaquePointer, until limit: ContinuousClock.Instant?, to send: (OpaquePointer) -> Int32
    ) throws(PostgresError) -> OpaquePointer? {
        guard send(connection) == 1 else { throw lost(connection, isOutcomeUnknown: false) }
        do {
            return try results(on: connection, until: limit).first
        } catch {
            // The caller's statement was not sent.
            throw PostgresError(error.code, error.detail, sqlState: error.sqlState, hint: error.hint)
        }
    }
}
