import Dispatch
import Logging
import Postgres
import Synchronization

/// The database connections of a worker.
final class WorkerConnections: Sendable {
    /// For the handlers.
    let handlers: Database
    /// For claims and completions, shared by all queues: two connections while there is little to do.
    let claims: Database
    /// For heartbeats and everything else that must not wait behind a claim. Its statements run on a thread of their
    /// own, so that none holds the connection while handlers block all others.
    let control: Database
    let controlThread = ControlThread()
    let maintenance: Database
    /// For SQL functions; nil if this worker runs none.
    let functions: Database?
    /// One for each of heartbeats, claims, handlers, wake-ups and maintenance. With more of them, claims and handlers
    /// are faster.
    let needed: Int
    private let shared = Mutex<Int?>(nil)
    private let logger: Logger
    /// How long a statement of the worker's own waits for a lock.
    private static let lockTimeout: Duration = .seconds(2)
    /// How long a claim waits for a connection that others use.
    private static let claimWait: Duration = .seconds(30)
    /// How long a job waits for a connection to call its function: other calls may take up to 5 minutes each.
    private static let functionWait: Duration = .seconds(3600)

    init(to database: Database, for configuration: WorkerConfiguration, logger: Logger) {
        // A claim or heartbeat that waits for a lock is retried before the statement timeout would end it.
        var own = database.configuration.forOwnStatements
        own.lockTimeout = Self.lockTimeout
        handlers = database
        claims = Database(
            configuration: own,
            maximumConnections: min(
                configuration.claimConnections, configuration.queues.count * ClaimPlan.Loop.allCases.count),
            eagerConnections: 2, waitLimit: Self.claimWait, pool: "claims", logger: logger)
        control = Database(
            configuration: own, maximumConnections: 1, eagerConnections: 1, pool: "control", executor: controlThread,
            logger: logger)
        maintenance = Database(
            configuration: database.configuration.forOwnStatements, maximumConnections: 2, logger: logger)
        functions =
            configuration.functionConnections == 0
            ? nil
            : Database(
                configuration: database.configuration.forOwnStatements,
                maximumConnections: configuration.functionConnections, waitLimit: Self.functionWait, pool: "functions",
                logger: logger)
        needed = 3 + (configuration.listens ? 1 : 0) + (configuration.maintenance ? 1 : 0)
        self.logger = logger
    }

    /// How many connections all that the worker does shares; nil if each has its own.
    var granted: Int? { shared.withLock(\.self) }

    /// Closes connections that weren't used since the last call, but for one of each pool.
    func closeUnneeded() async {
        for pool in [claims, maintenance, functions].compactMap(\.self) { await pool.closeUnneeded() }
    }

    /// Whether SQL functions may be called: one that takes long must not delay a heartbeat.
    var callsFunctions: Bool { functions != nil && granted != 1 }

    /// Has all that the worker does share so many connections. Handlers and SQL functions have one of them, if there
    /// are two, so that a long transaction delays no heartbeat. Nil: each has its own again.
    func share(_ granted: Int?) async {
        shared.withLock { $0 = granted }
        guard let granted else {
            for pool in [handlers, claims, control, maintenance] + [functions].compactMap(\.self) {
                await pool.redirect(to: nil)
            }
            return
        }
        let few = Database(
            configuration: control.configuration, maximumConnections: max(1, granted - 1),
            eagerConnections: max(1, granted - 1), waitLimit: Self.claimWait, pool: "control", executor: controlThread,
            logger: logger)
        for pool in [claims, control, maintenance] { await pool.redirect(to: few) }
        guard granted > 1 else { return await handlers.redirect(to: few) }
        let one = Database(
            configuration: handlers.configuration, maximumConnections: 1, waitLimit: Self.claimWait, logger: logger)
        await handlers.redirect(to: one)
        await functions?.redirect(to: one)
    }
}

/// A thread for what keeps the lease, beside Swift's shared threads, all of which handlers may block.
final class ControlThread: TaskExecutor {
    private let queue = DispatchQueue(label: "errand.control")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
