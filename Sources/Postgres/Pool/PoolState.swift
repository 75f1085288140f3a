/// Who gets which connection, decided without a clock, a task or a database.
///
/// At most `limit` connections are open or being opened. Who asks first is served first.
struct PoolState<Connection> {
    enum Grant {
        /// Here is an idle one.
        case use(Connection)
        /// There is room: open one, and tell with ``opened`` or ``failed``.
        case open
        /// Wait until ``released`` or ``failed`` names this waiter.
        case wait
        case closed
    }

    let limit: Int
    private var idle: [Connection] = []
    private var open = 0
    private var waiters: [UInt64] = []
    private var isClosed = false

    init(limit: Int) {
        self.limit = limit
    }

    /// A caller wants a connection, and can be told of one under `waiter`.
    mutating func request(waiter: UInt64) -> Grant {
        if isClosed { return .closed }
        // The one that was used last is the least likely to have been cut off for idleness.
        if let connection = idle.popLast() { return .use(connection) }
        if open < limit {
            open += 1
            return .open
        }
        waiters.append(waiter)
        return .wait
    }

    enum Release {
        /// Hand the connection to this waiter.
        case give(Connection, to: UInt64)
        /// Have this waiter open a new one.
        case reopen(by: UInt64)
        /// It lies idle now, or is to be closed.
        case keep
        case close(Connection)
    }

    /// A caller gives its connection back; a broken one frees its place only.
    mutating func released(_ connection: Connection, isBroken: Bool) -> Release {
        if isBroken || isClosed {
            let freed = freePlace()
            return isBroken ? freed : .close(connection)
        }
        guard waiters.isEmpty else { return .give(connection, to: waiters.removeFirst()) }
        idle.append(connection)
        return .keep
    }

    /// A connection could not be opened, or was closed outside: its place is free.
    mutating func failed() -> Release { freePlace() }

    /// A waiter gave up. False where it has been served meanwhile: then it holds what it was given.
    mutating func gaveUp(_ waiter: UInt64) -> Bool {
        guard let index = waiters.firstIndex(of: waiter) else { return false }
        waiters.remove(at: index)
        return true
    }

    /// Every idle connection leaves the pool: the server that they go to is not the right one any more.
    mutating func dropIdle() -> [Connection] {
        defer { idle = [] }
        open -= idle.count
        return idle
    }

    /// Nobody is served any more; answers who is to be closed and who to be told.
    mutating func close() -> (connections: [Connection], waiters: [UInt64]) {
        isClosed = true
        defer { waiters = [] }
        return (dropIdle(), waiters)
    }

    private mutating func freePlace() -> Release {
        if !waiters.isEmpty, !isClosed { return .reopen(by: waiters.removeFirst()) }
        open -= 1
        return .keep
    }
}
