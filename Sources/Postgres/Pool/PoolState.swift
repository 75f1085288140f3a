/// Decides who gets which connection, without a clock, a task or a database.
///
/// At most `limit` connections are open or being opened. First come, first served. While `eager` connections are in
/// use, another caller first waits briefly for one of them, unless many callers had to wait. So a little work shares a
/// few connections.
struct PoolState<Connection> {
    enum Grant {
        /// Use this idle connection.
        case use(Connection)
        /// Open a connection, and report with ``opened`` or ``failed``.
        case open
        /// Wait until ``released`` or ``failed`` names this waiter.
        case wait
        /// The same, and call ``insist`` after a moment.
        case waitBriefly
        case closed
    }

    let limit: Int
    private let eager: Int
    private var idle: [Connection] = []
    /// How many callers may wait briefly between two ``trim()``s. Later ones need not.
    static var briefWaits: Int { 1000 }
    private var waits = 0
    /// How many idle connections were not used since the last ``trim()``: the first ones.
    private var unneeded = 0
    private var open = 0
    private var waiters: [UInt64] = []
    private var isClosed = false

    init(limit: Int, eager: Int? = nil) {
        self.limit = limit
        self.eager = min(limit, eager ?? limit)
    }

    /// A caller requests a connection, identified by `waiter`.
    mutating func request(waiter: UInt64) -> Grant {
        if isClosed { return .closed }
        if open - idle.count < eager || waits >= Self.briefWaits, let grant = grant() { return grant }
        waiters.append(waiter)
        guard open - idle.count < limit else { return .wait }
        waits += 1
        return .waitBriefly
    }

    /// A waiter has waited briefly: it gets an idle connection, or opens one. Returns `wait` if it was served
    /// meanwhile, or has to wait on.
    mutating func insist(_ waiter: UInt64) -> Grant {
        guard let index = waiters.firstIndex(of: waiter), let grant = grant() else { return .wait }
        waiters.remove(at: index)
        return grant
    }

    private mutating func grant() -> Grant? {
        // The last used connection is the least likely to have been closed for idleness.
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
        /// It is idle now, or is to be closed.
        case keep
        case close(Connection)
    }

    /// A caller returns its connection. A broken one only frees its slot.
    mutating func released(_ connection: Connection, isBroken: Bool) -> Release {
        if isBroken || isClosed {
            let freed = freeSlot()
            return isBroken ? freed : .close(connection)
        }
        guard waiters.isEmpty else { return .give(connection, to: waiters.removeFirst()) }
        idle.append(connection)
        return .keep
    }

    /// A connection could not be opened, or was closed elsewhere: its slot is free.
    mutating func failed() -> Release { freeSlot() }

    /// A waiter gave up. Returns false if it was served meanwhile: then it owns its connection.
    mutating func gaveUp(_ waiter: UInt64) -> Bool {
        guard let index = waiters.firstIndex(of: waiter) else { return false }
        waiters.remove(at: index)
        return true
    }

    /// Removes connections that were not used since the last trim, and leaves one open.
    mutating func trim() -> [Connection] {
        let surplus = idle.prefix(max(0, min(unneeded, open - 1)))
        idle.removeFirst(surplus.count)
        open -= surplus.count
        unneeded = idle.count
        waits = 0
        return Array(surplus)
    }

    /// Removes every idle connection: their server is no longer the right one.
    mutating func dropIdle() -> [Connection] {
        defer {
            idle = []
            unneeded = 0
        }
        open -= idle.count
        return idle
    }

    /// Closes the pool. Returns the connections to close and the waiters to notify.
    mutating func close() -> (connections: [Connection], waiters: [UInt64]) {
        isClosed = true
        defer { waiters = [] }
        return (dropIdle(), waiters)
    }

    private mutating func freeSlot() -> Release {
        if !waiters.isEmpty, !isClosed { return .reopen(by: waiters.removeFirst()) }
        open -= 1
        return .keep
    }
}
