import Logging
import Postgres

/// Finds out whether the database grants the connections that a worker needs, and has them share fewer.
///
/// A login or a database may have a limit, and a pooler in session mode a small pool. Otherwise whatever came first
/// would hold them all: the worker would have a lease and no claim, or claims and no promotion.
struct ConnectionShare {
    let connections: WorkerConnections
    let logger: Logger
    /// How long a connection waits for its first reply: a full pooler accepts it, and serves it later. The second time
    /// longer, since a busy server may be slow too.
    private static let timeouts: (first: Duration, second: Duration) = (.seconds(1), .seconds(3))
    /// How long the sessions of connections that were just closed may still count.
    private static let closing: Duration = .milliseconds(300)
    /// While they are shared, how often the worker checks whether it may have more.
    private static let interval: Duration = .seconds(60)

    /// Before the worker opens connections of its own.
    func begin() async {
        await connections.handlers.redirect(to: nil)
        var granted = await countGranted(within: Self.timeouts.first)
        if 1..<connections.needed ~= granted {
            try? await Task.sleep(for: Self.closing)
            granted = max(granted, await countGranted(within: Self.timeouts.second))
        }
        // None at all: the database can't be reached, which the others report.
        guard 1..<connections.needed ~= granted else { return }
        try? await Task.sleep(for: Self.closing)
        logger.warning(
            "the database grants fewer connections than the worker needs: they are shared",
            metadata: [
                "granted": .stringConvertible(granted), "needed": .stringConvertible(connections.needed),
            ])
        await connections.share(granted)
    }

    /// Runs until its task is cancelled. Ends the sharing once the database grants all connections beside those in use.
    func run() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            guard connections.granted != nil,
                await countGranted(within: Self.timeouts.first) == connections.needed
            else { continue }
            logger.notice("the database grants all connections that the worker needs")
            await connections.share(nil)
        }
    }

    /// How many connections can be used at the same time, up to as many as the worker needs.
    private func countGranted(within timeout: Duration) async -> Int {
        let opened = await withTaskGroup(of: Connection?.self) { group in
            for _ in 0..<connections.needed { group.addTask { try? await open(within: timeout) } }
            return await group.reduce(into: [Connection]()) { all, one in
                if let one { all.append(one) }
            }
        }
        for connection in opened { await connection.close() }
        return opened.count
    }

    private func open(within timeout: Duration) async throws(PostgresError) -> Connection {
        let connection = try await Connection.connect(
            connections.handlers.configuration.alone, logger: logger)
        do {
            try await connection.execute("select 1", deadline: timeout)
            return connection
        } catch {
            await connection.close()
            throw error
        }
    }
}
