/// Who gets which connection, decided without a clock, a task or a database.
///
/// At most `limit` connections are open or being opened. Who asks first is served first. While `eager` of them are in use,
/// another caller waits for a moment whether one falls free, unless many have had to: a little work shares a few connections.
struct PoolState<Connection> {
    enum Grant {
        /// Here is an idle one.
        case use(Connection)
        /// There is room: open one, and tell with ``opened`` or ``failed``.
        case open
        /// Wait until ``released`` or ``failed`` names this waiter.
        case wait
        /// The same, and ``insist`` after a moment.
        case waitBriefly
        case closed
    }

    let limit: Int
    private let eager: Int
    private var idle: [Connection] = []
    /// How many callers may wait for a moment between two ``sweep``s; further ones need not.
    static var briefWaits: Int { 1000 }
    private var waits = 0
    /// How many of the idle ones nobody has needed since the last ``sweep``: the first ones.
    private var unneeded = 0
    private var open = 0
    private var waiters: [UInt64] = []
    private var isClosed = false

    init(limit: Int, eager: Int? = nil) {
        self.limit = limit
        self.eager = min(limit, eager ?? limit)
    }

    /// A caller wants a connection, and can be told of one under `waiter`.
    mutating func request(waiter: UInt64) -> Grant {
        if isClosed { return .closed }
        if open - idle.count < eager || waits >= Self.briefWaits, let grant = grant() { return grant }
        waiters.append(waiter)
        guard open - idle.count < limit else { return .wait }
        waits += 1
        return .waitBriefly
    }

    /// A waiter has waited for its moment: it gets an idle connection, or opens one. `wait` where it has been served, or has
    /// to wait on.
    mutating func insist(_ waiter: UInt64) -> Grant {
        guard let index = waiters.firstIndex(of: waiter), let grant = grant() else { return .wait }
        waiters.remove(at: index)
        return grant
    }

    private mutating func grant() -> Grant? {
        // The one that was used last is the least likely to have been cut off for idleness.
        if let connection = idle.popLast() {
            unneeded = min(unneeded, idle.count)
            return .use(connection)
        }
        guard open < limit else { return nil }
        open += 1
        return .open
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

    /// Connections that nobody has needed since the last sweep leave the pool, down to one that is open.
    mutating func sweep() -> [Connection] {
        let surplus = idle.prefix(max(0, min(unneeded, open - 1)))
        idle.removeFirst(surplus.count)
        open -= surplus.count
        unneeded = idle.count
        waits = 0
        return Array(surplus)
    }

    /// Every idle connection leaves the pool: the server that they go to is not the right one any more.
    mutating func dropIdle() -> [Connection] {
        defer {
            idle = []
            unneeded = 0
        }
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
