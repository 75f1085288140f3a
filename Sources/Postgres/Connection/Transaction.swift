import CLibpq

/// An open transaction, valid only within the closure that gets it.
///
/// If the reply to a statement is lost, the transaction is known to be rolled back, so the error's `isOutcomeUnknown`
/// is false. Only a lost reply to the commit leaves the outcome unknown.
public struct Transaction: Sendable {
    let connection: Connection

    /// Runs one statement in the transaction.
    public func query(_ statement: Statement) async throws(PostgresError) -> Rows {
        do { return try await connection.query(statement) } catch { throw error.inOpenTransaction }
    }

    /// Runs one statement in the transaction, and returns how many rows it changed.
    @discardableResult
    public func execute(_ statement: Statement) async throws(PostgresError) -> Int {
        try await query(statement).affected
    }

    /// Runs several statements in one round trip.
    public func pipeline(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        do { return try await connection.pipeline(statements) } catch { throw error.inOpenTransaction }
    }
}

extension Connection {
    /// Runs `body` in a transaction at READ COMMITTED: committed when it returns, rolled back when it throws. No other
    /// task may use the connection meanwhile.
    public nonisolated func transaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        try await execute("begin isolation level read committed")
        let result: T
        do {
            result = try await body(Transaction(connection: self))
        } catch {
            // Rolls back even if the task was cancelled, which refuses the task's own statements.
            await rollBack()
            throw error
        }
        do {
            try await commit()
        } catch {
            await rollBack()
            throw error
        }
        return result
    }

    /// Commits. If a statement failed and `body` ignored that, the server replies ROLLBACK, which is an error here.
    private nonisolated func commit() async throws(PostgresError) {
        guard try await query("commit").command == "ROLLBACK" else { return }
        throw PostgresError(
            .rejected, "rolled back, because a statement in the transaction had failed", sqlState: "25P02")
    }

    /// Rolls the transaction back. If that fails, the connection is closed, which ends the transaction too.
    private func rollBack() {
        guard let connection = handle?.pointer else { return }
        guard PQsendQuery(connection, "rollback") == 1,
            let results = try? results(on: connection, until: .now + .seconds(5))
        else { return close() }
        let isDone = results.allSatisfy { PQresultStatus($0) == PGRES_COMMAND_OK }
        results.forEach { PQclear($0) }
        if !isDone { close() }
    }

    /// Whether the connection is open, idle, and has not been ended by the server. Costs no round trip.
    package func isUsable() -> Bool {
        readUnasked()
        guard let handle else { return false }
        let connection = handle.pointer
        // Another connection got no reply from this host: this one would wait just as long.
        guard !configuration.hosts.hasStalled(handle.host, since: handle.opened) else {
            close()
            return false
        }
        // Its last user left it in a transaction: it must not be reused like that.
        guard PQtransactionStatus(connection) == PQTRANS_IDLE else {
            close()
            return false
        }
        return true
    }
}
