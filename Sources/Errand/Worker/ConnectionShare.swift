import Logging
import Postgres

/// Finds out whether the database grants the connections that a worker needs, and has them share fewer.
///
/// A login or a database may have a limit, and a pooler in session mode a small pool. Otherwise whatever came first
/// would hold them all: the worker would have a lease and no claim, or claims and no promotion.
struct ConnectionShare {
    let shared: WorkerState
    /// How long a connection waits for its first reply: a full pooler accepts it, and serves it later. The second time
    /// longer, since a busy server may be slow too.
    private static let timeouts: (first: Duration, second: Duration) = (.seconds(1), .seconds(3))
    /// How long the sessions of connections that were just closed may still count.
    private static let closing: Duration = .milliseconds(300)
    /// While they are shared, how often the worker checks whether it may have more.
    private static let interval: Duration = .seconds(60)

    /// Before the worker opens connections of its own.
    func begin() async {
        await shared.environment.database.redirect(to: nil)
        var granted = await countGranted(within: Self.timeouts.first)
        if 1..<shared.neededConnections ~= granted {
            try? await Task.sleep(for: Self.closing)
            granted = max(granted, await countGranted(within: Self.timeouts.second))
        }
        // None at all: the database can't be reached, which the others report.
        guard 1..<shared.neededConnections ~= granted else { return }
        try? await Task.sleep(for: Self.closing)
        shared.logger.warning(
            "the database grants fewer connections than the worker needs: they are shared",
            metadata: [
                "granted": .stringConvertible(granted), "needed": .stringConvertible(shared.neededConnections),
            ])
        await shared.share(connections: granted)
    }

    /// Runs until its task is cancelled. Ends the sharing once the database grants all connections beside those in use.
    func run() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            guard shared.grantedConnections != nil,
                await countGranted(within: Self.timeouts.first) == shared.neededConnections
            else { continue }
            shared.logger.notice("the database grants all connections that the worker needs")
            await shared.share(connections: nil)
        }
    }

    /// How many connections can be used at the same time, up to as many as the worker needs.
    private func countGranted(within timeout: Duration) async -> Int {
        let connections = await withTaskGroup(of: Connection?.self) { group in
            for _ in 0..<shared.neededConnections { group.addTask { try? await open(within: timeout) } }
            return await group.reduce(into: [Connection]()) { all, one in
                if let one { all.append(one) }
            }
        }
        for connection in connections { await connection.close() }
        return connections.count
    }

    private func open(within timeout: Duration) async throws(PostgresError) -> Connection {
        let connection = try await Connection.connect(
            shared.environment.database.configuration.alone, logger: shared.logger)
        do {
            try await connection.execute("select 1", deadline: timeout)
            return connection
        } catch {
            await connection.close()
            throw error
        }
    }
}

extension WorkerState {
    /// One for each of heartbeats, claims, handlers, wake-ups and maintenance. With more of them, claims and handlers
    /// are faster.
    var neededConnections: Int { 3 + (configuration.listens ? 1 : 0) + (configuration.maintenance ? 1 : 0) }

    /// Has all that the worker does share so many connections. Handlers have one of them, if there are two, so
    /// that a long transaction delays no heartbeat. Nil: each has its own again.
    func share(connections granted: Int?) async {
        set(granted: granted)
        let jobs = environment.database
        guard let granted else {
            for pool in [jobs, claims, control, maintenanceConnections] { await pool.redirect(to: nil) }
            return
        }
        let few = Database(
            configuration: control.configuration, maximumConnections: max(1, granted - 1),
            eagerConnections: max(1, granted - 1), waitLimit: Self.claimWait, pool: "control", executor: controlThread,
            logger: logger)
        for pool in [claims, control, maintenanceConnections] { await pool.redirect(to: few) }
        await jobs.redirect(
            to: granted == 1
                ? few
                : Database(
                    configuration: jobs.configuration, maximumConnections: 1, waitLimit: Self.claimWait,
                    logger: logger))
    }
}
