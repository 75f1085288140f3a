import CLibpq

/// Which statements the server keeps under a name for one connection.
struct KeptStatements {
    /// Whether the connection is a session of the server's own; nil as long as nobody has looked.
    var isDirect: Bool?
    private var names: [String: String] = [:]

    func name(of statement: Statement) -> String? { statement.isKept ? names[statement.sql] : nil }

    /// The name that `sql` is to have.
    func nextName() -> String { "errand_\(names.count + 1)" }

    mutating func add(_ name: String, for sql: String) { names[sql] = name }

    /// Something between here and the server loses names (26000, invalid_sql_statement_name): no more of them.
    mutating func failed(_ error: PostgresError) {
        guard error.sqlState == "26000" else { return }
        isDirect = false
        names = [:]
    }
}

extension Connection {
    /// Has the server keep `statement`, if it doesn't yet. Does nothing behind a pooler, whose next transaction may run on
    /// another session. Costs a round trip for a statement's first run, and one more for a connection's first statement.
    func keep(
        _ statement: Statement, on connection: OpaquePointer, until limit: ContinuousClock.Instant?
    ) throws(PostgresError) {
        guard keptStatements.isDirect != false, keptStatements.name(of: statement) == nil else { return }
        if keptStatements.isDirect == nil {
            // A pooler makes up a process id for its client, since it stands for none.
            let process = try answer(on: connection, until: limit) {
                PQsendQueryParams($0, "select pg_backend_pid()", 0, nil, nil, nil, nil, 0)
            }
            defer { PQclear(process) }
            guard PQresultStatus(process) == PGRES_TUPLES_OK else { return }
            keptStatements.isDirect = PQgetvalue(process, 0, 0).map { String(cString: $0) } == "\(serverProcess)"
            guard keptStatements.isDirect == true else { return }
        }
        let name = keptStatements.nextName()
        let types = EncodedParameters(statement.parameters).types
        let prepared = try answer(on: connection, until: limit) {
            PQsendPrepare($0, name, statement.sql, Int32(types.count), types)
        }
        defer { PQclear(prepared) }
        // Where it was refused, the statement itself will be too, and says so to its caller.
        if PQresultStatus(prepared) == PGRES_COMMAND_OK { keptStatements.add(name, for: statement.sql) }
    }

    private func answer(
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
