import Logging
import Synchronization
import Waiting

/// A database, through a pool of connections to it.
///
/// Connections are opened on demand, and broken ones are replaced on demand.
public final class Database: Sendable {
    package let configuration: PostgresConfiguration
    private let waitLimit: Duration
    private let executor: (any TaskExecutor)?
    private let logger: Logger
    /// Nil if no metrics are collected.
    private let metrics: PoolMetrics?

    private struct State {
        var pool: PoolState<Connection>
        var waiters = Waiters<Served>()
    }

    /// What a waiter is woken with.
    private enum Served: Sendable {
        case connection(Connection)
        case mayOpen
        case timedOut
        case cancelled
        case closed
    }

    private let state: Mutex<State>
    /// What serves all callers in place of this pool; nil: this pool does.
    private let substitute = Mutex<Database?>(nil)

    /// - Parameters:
    ///   - configuration: how to reach it.
    ///   - maximumConnections: open at the same time, at least 1. Default 8.
    ///   - waitLimit: how long a caller waits for a free connection before `poolExhausted` is thrown. Default 5 s.
    ///   - pool: the label `pool` of its metrics. Default `jobs`.
    ///   - logger: default one with the label `errand`.
    public convenience init(
        configuration: PostgresConfiguration, maximumConnections: Int = 8, waitLimit: Duration = .seconds(5),
        pool: String = "jobs", logger: Logger = Logger(label: "errand")
    ) {
        self.init(
            configuration: configuration, maximumConnections: maximumConnections,
            eagerConnections: maximumConnections, waitLimit: waitLimit, pool: pool, logger: logger)
    }

    /// - Parameters:
    ///   - eagerConnections: while this many are in use, another one is opened only if none becomes free within 20 ms,
    ///     or if 1,000 callers have waited since the last ``closeUnneeded()``.
    ///   - executor: what runs ``pipeline(_:)`` and all that calls it; nil: the caller's, usually Swift's shared
    ///     threads.
    package init(
        configuration: PostgresConfiguration, maximumConnections: Int, eagerConnections: Int,
        waitLimit: Duration = .seconds(5), pool: String = "jobs", executor: (any TaskExecutor)? = nil, logger: Logger
    ) {
        precondition(maximumConnections >= 1, "maximumConnections: expected at least 1, got \(maximumConnections)")
        self.configuration = configuration
        self.waitLimit = waitLimit
        self.executor = executor
        self.logger = logger
        metrics = PoolMetrics(pool: pool, limit: maximumConnections)
        state = Mutex(State(pool: PoolState(limit: maximumConnections, eager: eagerConnections)))
    }

    /// Closes idle connections now and the others when they are returned. Waiting and later callers get an error.
    public func close() async {
        let (connections, waiters) = state.withLock { state in
            let (connections, waiters) = state.pool.close()
            return (connections, waiters.compactMap { state.waiters.wake($0, with: .closed) })
        }
        for waiter in waiters { waiter.resume(returning: .closed) }
        for connection in connections { await connection.close() }
    }

    /// Closes connections that weren't used since the last call, and leaves at least one open.
    package func closeUnneeded() async {
        for connection in state.withLock({ $0.pool.trim() }) { await connection.close() }
    }

    /// Has another pool serve all callers from now on, and closes this one's connections once they are idle. Nil ends
    /// that, and closes the other pool. It also closes this one's idle connections.
    package func redirect(to other: Database?) async {
        let old = substitute.withLock { substitute in
            defer { substitute = other }
            return substitute
        }
        await old?.close()
        for connection in state.withLock({ $0.pool.dropIdle() }) { await connection.close() }
    }

    /// Opens a connection outside the pool, for exclusive use.
    ///
    /// - Parameter hasTimeout: false for statements without a timeout.
    package func makeConnection(hasTimeout: Bool = true) async throws(PostgresError) -> Connection {
        var configuration = configuration
        if !hasTimeout { configuration.statementTimeout = nil }
        return try await Connection.connect(configuration, logger: logger)
    }
}

// MARK: - What callers call
extension Database {
    /// Runs `body` with a connection that no other task uses meanwhile.
    @discardableResult
    public func withConnection<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        if let other = substitute.withLock(\.self) { return try await other.withConnection(body) }
        let connection = try await takeUsable()
        do {
            let result = try await body(connection)
            await giveBack(connection)
            return result
        } catch {
            await noticeReadOnly(error, on: connection)
            await giveBack(connection)
            throw error
        }
    }

    /// Runs one statement.
    public func query(_ statement: Statement) async throws(PostgresError) -> Rows {
        try await pipeline([statement])[0]
    }

    /// Runs one statement, and returns how many rows it changed.
    @discardableResult
    public func execute(_ statement: Statement) async throws(PostgresError) -> Int {
        try await query(statement).affected
    }

    /// Runs several statements in one round trip and one transaction: all or nothing.
    public func pipeline(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        guard let executor else { return try await run(statements) }
        return try await withTaskExecutorPreference(executor) { () async throws(PostgresError) -> [Rows] in
            try await run(statements)
        }
    }

    private func run(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        if let other = substitute.withLock(\.self) { return try await other.pipeline(statements) }
        while true {
            let connection = try await take()
            let (outcome, isUsable) = await connection.runIfUsable(statements)
            switch outcome {
            case .success(let rows):
                await release(connection, isBroken: !isUsable)
                return rows
            case .failure(let error):
                await noticeReadOnly(error, on: connection)
                await giveBack(connection)
                throw error
            case nil:
                await giveBack(connection)
            }
        }
    }

    /// Runs `body` in a transaction at READ COMMITTED: committed when it returns, rolled back when it throws.
    ///
    /// - Throws: what `body` throws; a ``PostgresError`` whose `isOutcomeUnknown` is true if the response to the
    ///   commit was lost.
    @discardableResult
    public func transaction<T: Sendable>(_ body: (Transaction) async throws -> T) async throws -> T {
        try await withConnection { try await $0.transaction(body) }
    }
}

// MARK: - Lending
extension Database {
    private func takeUsable() async throws(PostgresError) -> Connection {
        while true {
            let connection = try await take()
            if await connection.isUsable() { return connection }
            await giveBack(connection)
        }
    }

    /// Returns a connection, which the server may have closed while it was idle.
    private func take() async throws(PostgresError) -> Connection {
        let connection = try await takeOrOpen()
        metrics?.took()
        return connection
    }

    private func takeOrOpen() async throws(PostgresError) -> Connection {
        let (waiter, grant) = state.withLock { state in
            let waiter = state.waiters.add()
            return (waiter, state.pool.request(waiter: waiter))
        }
        switch grant {
        case .use(let connection): return connection
        case .open: return try await open()
        case .closed: throw PostgresError(.connectionLost, "the pool is closed")
        case .wait: return try await served(waiter)
        case .waitBriefly: return try await served(waiter, insistsAfter: .milliseconds(20))
        }
    }

    private func served(
        _ waiter: UInt64, insistsAfter moment: Duration? = nil
    ) async throws(PostgresError) -> Connection {
        let start = ContinuousClock.now
        let served = await wait(as: waiter, insistsAfter: moment)
        metrics?.waited(since: start)
        switch served {
        case .connection(let connection): return connection
        case .mayOpen: return try await open()
        case .closed: throw PostgresError(.connectionLost, "the pool is closed")
        case .cancelled: throw PostgresError(.cancelled, "cancelled while it waited for a connection")
        case .timedOut:
            metrics?.timedOut()
            throw PostgresError(
                .poolExhausted, "no connection became free within \(waitLimit)",
                hint: "raise the number of connections, or find what holds them")
        }
    }

    private func open() async throws(PostgresError) -> Connection {
        do {
            return try await Connection.connect(configuration, logger: logger)
        } catch {
            await carryOut(state.withLock { $0.pool.failed() })
            throw error
        }
    }

    private func wait(as waiter: UInt64, insistsAfter moment: Duration?) async -> Served {
        let alarm = Task {
            if let moment {
                try await Task.sleep(for: moment)
                insist(waiter)
            }
            try await Task.sleep(for: waitLimit)
            giveUp(waiter, with: .timedOut)
        }
        defer { alarm.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { $0.waiters.sleep(waiter, as: continuation) }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            giveUp(waiter, with: .cancelled)
        }
    }

    private func insist(_ waiter: UInt64) {
        let waiting = state.withLock { state in
            let served: Served
            switch state.pool.insist(waiter) {
            case .use(let connection): served = .connection(connection)
            case .open: served = .mayOpen
            case .wait, .waitBriefly, .closed: return nil as (Waiters<Served>.Continuation, Served)?
            }
            return state.waiters.wake(waiter, with: served).map { ($0, served) }
        }
        if let (continuation, served) = waiting { continuation.resume(returning: served) }
    }

    private func giveUp(_ waiter: UInt64, with reason: Served) {
        let continuation = state.withLock { state in
            // Served already: it holds a connection.
            guard state.pool.gaveUp(waiter) else { return nil as Waiters<Served>.Continuation? }
            return state.waiters.wake(waiter, with: reason)
        }
        continuation?.resume(returning: reason)
    }

    private func giveBack(_ connection: Connection) async {
        let isOpen = await connection.isUsable()
        await release(connection, isBroken: !isOpen)
    }

    private func release(_ connection: Connection, isBroken: Bool) async {
        metrics?.returned()
        var isBroken = isBroken
        if substitute.withLock({ $0 != nil }) {
            await connection.close()
            isBroken = true
        }
        await carryOut(state.withLock { $0.pool.released(connection, isBroken: isBroken) })
    }

    private func carryOut(_ release: PoolState<Connection>.Release) async {
        switch release {
        case .give(let connection, let waiter): serve(waiter, .connection(connection))
        case .reopen(let waiter): serve(waiter, .mayOpen)
        case .close(let connection): await connection.close()
        case .keep: break
        }
    }

    private func serve(_ waiter: UInt64, _ served: Served) {
        let continuation = state.withLock { $0.waiters.wake(waiter, with: served) }
        continuation?.resume(returning: served)
    }

    /// A server that has become read-only is the wrong one: this connection and every idle one are closed.
    private func noticeReadOnly(_ error: any Error, on connection: Connection) async {
        guard (error as? PostgresError)?.sqlState == "25006" else { return }
        await connection.close()
        for connection in state.withLock({ $0.pool.dropIdle() }) { await connection.close() }
    }
}
