import CLibpq

/// An open transaction. It is good for as long as the closure runs that it was handed to.
///
/// Where a statement's answer is lost, the transaction is known to have come to nothing: that error's `isOutcomeUnknown` is
/// false. Only the commit's answer leaves a doubt.
public struct Transaction: Sendable {
    let connection: Connection

    /// Runs one statement in the transaction.
    public func query(_ statement: Statement) async throws(PostgresError) -> Rows {
        do { return try await connection.query(statement) } catch { throw error.inOpenTransaction }
    }

    /// Runs one statement in the transaction, and answers how many rows it changed.
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
    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws. Nobody else may use the
    /// connection meanwhile.
    public nonisolated func transaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        try await execute("begin")
        let result: T
        do {
            result = try await body(Transaction(connection: self))
        } catch {
            // Also when the task was cancelled: its own statements are refused then, this one must not be.
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

    /// Commits. Where a statement has failed and `body` didn't mind, the server answers ROLLBACK: that is an error here.
    private nonisolated func commit() async throws(PostgresError) {
        guard try await query("commit").command == "ROLLBACK" else { return }
        throw PostgresError(
            .rejected, "rolled back, because a statement in the transaction had failed", sqlState: "25P02")
    }

    /// Ends the transaction; a connection on which that can't be done is closed, which ends it too.
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
    func isUsable() -> Bool {
        readUnasked()
        guard let connection = handle?.pointer else { return false }
        // Left in a transaction by its last user: it must not be lent like that.
        guard PQtransactionStatus(connection) == PQTRANS_IDLE else {
            close()
            return false
        }
        return true
    }
}
