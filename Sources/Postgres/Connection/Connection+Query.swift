import CLibpq
import Dispatch
import Glibc
import Synchronization

// MARK: - What callers call
extension Connection {
    /// Runs one statement, in a transaction of its own unless one is open.
    ///
    /// - Parameter deadline: how long to wait for the reply; default the configuration's. After it the connection is
    ///   closed, because the reply may still come.
    public nonisolated func query(
        _ statement: Statement, deadline: Duration? = nil
    ) async throws(PostgresError) -> Rows {
        try await pipeline([statement], deadline: deadline)[0]
    }

    /// Runs one statement, and returns how many rows it changed.
    @discardableResult
    public nonisolated func execute(
        _ statement: Statement, deadline: Duration? = nil
    ) async throws(PostgresError) -> Int {
        try await query(statement, deadline: deadline).affected
    }

    /// Runs several statements in one round trip and one transaction: all or nothing.
    public nonisolated func pipeline(
        _ statements: [Statement], deadline: Duration? = nil
    ) async throws(PostgresError) -> [Rows] {
        let call = CancellableCall()
        let outcome: Result<[Rows], PostgresError> = await withTaskCancellationHandler {
            await run(statements, deadline: deadline, call: call)
        } onCancel: {
            call.cancel()
        }
        return try outcome.get()
    }

    /// For a pool: checks that the connection is usable, runs the statements, and checks again, in one visit to its
    /// thread. Nil if it was not usable: then nothing was sent.
    nonisolated func runIfUsable(
        _ statements: [Statement]
    ) async -> (outcome: Result<[Rows], PostgresError>?, isUsable: Bool) {
        let call = CancellableCall()
        return await withTaskCancellationHandler {
            await runIfUsable(statements, call: call)
        } onCancel: {
            call.cancel()
        }
    }

    /// Runs a text of one or more statements without parameters, by the simple protocol. For migrations.
    package nonisolated func script(_ sql: String) async throws(PostgresError) {
        let outcome = await runScript(sql)
        try outcome.get()
    }
}

// MARK: - Helpers
extension Connection {
    private func runIfUsable(
        _ statements: [Statement], call: CancellableCall
    ) -> (outcome: Result<[Rows], PostgresError>?, isUsable: Bool) {
        guard isUsable() else { return (nil, isUsable: false) }
        let outcome = run(statements, deadline: nil, call: call)
        return (outcome, isUsable: isUsable())
    }

    private func run(
        _ statements: [Statement], deadline: Duration?, call: CancellableCall
    ) -> Result<[Rows], PostgresError> {
        Result { () throws(PostgresError) in
            let connection = try opened()
            let limit = (deadline ?? configuration.clientDeadline).map { ContinuousClock.now + $0 }
            guard call.begin(handle?.cancel) else {
                throw PostgresError(.cancelled, "cancelled before it was sent")
            }
            defer { call.end() }
            let session = try session(on: connection, until: limit)
            if session.isDirect {
                for statement in statements where statement.isPrepared {
                    try prepare(statement, on: connection, until: limit)
                }
            }
            if !session.isReadCommitted, PQtransactionStatus(connection) == PQTRANS_IDLE {
                return try runAtReadCommitted(statements, on: connection, until: limit, call: call)
            }
            if statements.count == 1 {
                try send(statements[0], on: connection)
                return [try rows(try results(on: connection, until: limit), call: call)]
            }
            return try runPipeline(statements, on: connection, until: limit, call: call)
        }
    }

    /// For a pooler that ignores the connection's options, in front of a database with another default.
    private func runAtReadCommitted(
        _ statements: [Statement], on connection: OpaquePointer, until limit: ContinuousClock.Instant?,
        call: CancellableCall
    ) throws(PostgresError) -> [Rows] {
        do {
            let level: Statement = "set transaction isolation level read committed"
            let rows = try runPipeline([level] + statements, on: connection, until: limit, call: call)
            return Array(rows.dropFirst())
        } catch {
            var error = error
            error.statement = error.statement.map { max(0, $0 - 1) }
            throw error
        }
    }

    private func runPipeline(
        _ statements: [Statement], on connection: OpaquePointer, until limit: ContinuousClock.Instant?,
        call: CancellableCall
    ) throws(PostgresError) -> [Rows] {
        guard PQenterPipelineMode(connection) == 1 else { throw lost(connection, isOutcomeUnknown: false) }
        for statement in statements { try send(statement, on: connection) }
        guard PQpipelineSync(connection) == 1 else { throw lost(connection, isOutcomeUnknown: true) }
        var collected: [OpaquePointer] = []
        defer { collected.forEach { PQclear($0) } }
        while true {
            let results = try results(on: connection, until: limit)
            guard let first = results.first else { continue }
            if PQresultStatus(first) == PGRES_PIPELINE_SYNC {
                PQclear(first)
                break
            }
            collected += results
            try refuseCopy(results)
        }
        PQexitPipelineMode(connection)
        // Only the statement that failed has a message; later ones were not run.
        if let index = collected.firstIndex(where: Self.isFailed) {
            var error = failure(of: collected[index], call: call)
            // The commit comes after the last statement.
            error.statement = index < statements.count ? index : nil
            throw error
        }
        let rows = collected.map(Rows.init)
        collected = []
        return rows
    }

    private func runScript(_ sql: String) -> Result<Void, PostgresError> {
        Result { () throws(PostgresError) in
            let connection = try opened()
            guard PQsendQuery(connection, sql) == 1 else { throw lost(connection, isOutcomeUnknown: false) }
            let results = try results(on: connection, until: nil)
            defer { results.forEach { PQclear($0) } }
            if let failed = results.first(where: { PQresultStatus($0) == PGRES_FATAL_ERROR }) {
                throw PostgresError(result: failed)
            }
            try refuseCopy(results)
        }
    }

    func opened() throws(PostgresError) -> OpaquePointer {
        guard let handle else { throw PostgresError(.connectionLost, "the connection is closed") }
        return handle.pointer
    }

    private func send(_ statement: Statement, on connection: OpaquePointer) throws(PostgresError) {
        guard statement.parameters.count <= 65_535 else {
            // Earlier statements of a pipeline may be in transit. Without the pipeline's end they have no effect.
            if PQpipelineStatus(connection) != PQ_PIPELINE_OFF { close() }
            throw PostgresError(.malformed, "expected at most 65535 parameters, got \(statement.parameters.count)")
        }
        let sent = try EncodedParameters(statement.parameters).withPointers {
            count, types, values, lengths, formats throws(PostgresError) in
            if let name = preparedStatements.name(of: statement) {
                PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1)
            } else {
                PQsendQueryParams(connection, statement.sql, count, types, values, lengths, formats, 1)
            }
        }
        guard sent == 1 else {
            throw lost(connection, isOutcomeUnknown: PQpipelineStatus(connection) != PQ_PIPELINE_OFF)
        }
    }

    /// All results up to the end of a statement: one, except for scripts.
    func results(
        on connection: OpaquePointer, until limit: ContinuousClock.Instant?
    ) throws(PostgresError) -> [OpaquePointer] {
        var results: [OpaquePointer] = []
        while true {
            while PQflush(connection) == 1 {
                // Read while writing: otherwise both sides could wait with full buffers.
                try wait(for: Int16(POLLIN | POLLOUT), on: connection, until: limit, discarding: results)
                PQconsumeInput(connection)
            }
            while PQisBusy(connection) == 1 {
                try wait(for: Int16(POLLIN), on: connection, until: limit, discarding: results)
                // The server's last message may have been read already: PQgetResult returns it.
                if PQconsumeInput(connection) == 0 { break }
            }
            guard let result = PQgetResult(connection) else { break }
            results.append(result)
            let status = PQresultStatus(result)
            if status == PGRES_PIPELINE_SYNC || Self.isCopy(status) { break }
        }
        drainNotifications(on: connection)
        if PQstatus(connection) == CONNECTION_BAD {
            // The last message of the server or pooler: the session is gone, and its reply with it.
            let said = results.map { PostgresError(result: $0) }.first { $0.sqlState != nil }
            results.forEach { PQclear($0) }
            let error = lost(connection, isOutcomeUnknown: true)
            guard let said else { throw error }
            throw PostgresError(
                .connectionLost, said.detail, sqlState: said.sqlState, hint: said.hint, isOutcomeUnknown: true)
        }
        return results
    }

    /// Sends all buffered bytes to the kernel.
    func flush(_ connection: OpaquePointer) throws(PostgresError) {
        while PQflush(connection) == 1 {
            try wait(for: Int16(POLLIN | POLLOUT), on: connection, until: nil, discarding: [])
            PQconsumeInput(connection)
        }
    }

    private func wait(
        for events: Int16, on connection: OpaquePointer, until limit: ContinuousClock.Instant?,
        discarding results: [OpaquePointer]
    ) throws(PostgresError) {
        var polled = pollfd(fd: PQsocket(connection), events: events, revents: 0)
        while true {
            let left = limit.map { ContinuousClock.now.duration(to: $0) }
            let milliseconds = left.map { Int32(clamping: max(0, $0.wholeMicroseconds / 1000 + 1)) } ?? -1
            if let left, left <= .zero {
                results.forEach { PQclear($0) }
                if let handle { configuration.hosts.stalled(handle.host) }
                close()
                throw PostgresError(.timedOut, "no reply by the client's deadline", isOutcomeUnknown: true)
            }
            let ready = poll(&polled, 1, milliseconds)
            if ready > 0 { return }
            if ready < 0 && errno != EINTR { return }
        }
    }

    /// The rows of one statement. If the server refuses its commit, the error is a further result.
    private func rows(_ results: [OpaquePointer], call: CancellableCall) throws(PostgresError) -> Rows {
        var results = results
        defer { results.forEach { PQclear($0) } }
        try refuseCopy(results)
        if let failed = results.first(where: Self.isFailed) { throw failure(of: failed, call: call) }
        return Rows(results.removeFirst())
    }

    private static func isFailed(_ result: OpaquePointer) -> Bool {
        ![PGRES_TUPLES_OK, PGRES_COMMAND_OK].contains(PQresultStatus(result))
    }

    /// COPY as a statement: its data would have to be read or sent before anything else, and until then libpq returns
    /// the same result again and again.
    private func refuseCopy(_ results: [OpaquePointer]) throws(PostgresError) {
        guard let last = results.last, Self.isCopy(PQresultStatus(last)) else { return }
        close()
        throw PostgresError(
            .malformed, "COPY is not supported as a statement: see copyIn", isOutcomeUnknown: true)
    }

    private static func isCopy(_ status: ExecStatusType) -> Bool {
        status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH
    }

    private func failure(of result: OpaquePointer, call: CancellableCall) -> PostgresError {
        let error = PostgresError(result: result)
        stopPreparing(after: error)
        guard error.sqlState == "57014", call.isCancelled else { return error }
        return PostgresError(.cancelled, error.detail, sqlState: error.sqlState)
    }

    /// The error of a lost connection. Closes the connection.
    func lost(_ connection: OpaquePointer, isOutcomeUnknown: Bool) -> PostgresError {
        let message = Self.message(connection)
        close()
        return PostgresError(
            .connectionLost, message.isEmpty ? "the server closed the connection" : message,
            isOutcomeUnknown: isOutcomeUnknown)
    }
}

/// A call that its task's cancellation may end, without affecting later calls.
final class CancellableCall: Sendable {
    private struct State {
        var isCancelled = false
        var handle: CancelHandle?
    }

    private let state = Mutex(State())

    var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Returns false if the task was cancelled before the call began.
    func begin(_ handle: CancelHandle?) -> Bool {
        state.withLock { state in
            state.handle = state.isCancelled ? nil : handle
            return !state.isCancelled
        }
    }

    /// From now on a cancellation has no effect. Waits for a running cancellation.
    func end() { state.withLock { $0.handle = nil } }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        // PQcancel makes a connection of its own and waits for it: not on the canceller's thread. `end` waits for it.
        DispatchQueue.global(qos: .utility).async {
            self.state.withLock { $0.handle?.cancel() }
        }
    }
}

/// Cancels the statement that runs on a connection, from any thread.
final class CancelHandle: Sendable {
    /// libpq allows PQcancel from any thread, and it changes nothing in the handle.
    private nonisolated(unsafe) let pointer: OpaquePointer

    init?(_ connection: OpaquePointer) {
        guard let pointer = PQgetCancel(connection) else { return nil }
        self.pointer = pointer
    }

    deinit { PQfreeCancel(pointer) }

    func cancel() {
        var message = [CChar](repeating: 0, count: 256)
        PQcancel(pointer, &message, Int32(message.count))
    }
}
