import Logging
import Postgres
import Synchronization
import Waiting

/// The state that the services of one worker share.
final class WorkerState: Sendable {
    let configuration: WorkerConfiguration
    let kinds: [String]
    /// For the handlers.
    let environment: AttemptEnvironment
    /// For claims and completions, shared by all queues: two connections while there is little to do.
    let claims: Database
    /// For heartbeats and everything else that must not wait behind a claim. Its statements run on a thread of their
    /// own, so that none holds the connection while handlers block all others.
    let control: Database
    let controlThread = ControlThread()
    let maintenanceConnections: Database
    let logger: Logger
    let identity = Identity()
    let running = Running()
    /// What this worker shares with those of other databases, or has for itself.
    let capacity: SharedCapacity
    /// Whether workers of other databases use the same slots.
    let sharesSlots: Bool
    /// Raised when the shares of slots should be updated.
    let sharesChanged = Signal()
    let generations = Mutex(ClaimGenerations())
    /// Heartbeats that succeeded.
    let heartbeats = Atomic<Int>(0)
    let counts = FinishedCounts()
    let failures: FailureLog
    /// Nil if no metrics are collected.
    let metrics: WorkerMetrics?
    /// Raised when a queue has fallen asleep.
    let fellAsleep = Signal()
    let idlePolling: Mutex<IdlePollingPolicy>
    let keeper = LeaseKeeperSignal()
    let maintenance = MaintenanceTimers()
    private let start = ContinuousClock.now
    /// How long a statement of the worker's own waits for a lock.
    private static let lockTimeout: Duration = .seconds(2)
    /// How long a claim waits for a connection that others use.
    static let claimWait: Duration = .seconds(30)
    private struct Flags {
        var isStopping = false
        /// The grace was cut short.
        var isForced = false
        var listens = false
        var granted: Int?
    }

    private let flags = Mutex(Flags())

    init(
        database: Database, handlers: Handlers, configuration: WorkerConfiguration,
        sharing capacity: SharedCapacity? = nil, logger: Logger
    ) {
        var logger = logger
        if let cell = configuration.cell { logger[metadataKey: "cell"] = "\(cell)" }
        self.capacity = capacity ?? SharedCapacity(of: configuration)
        sharesSlots = capacity != nil
        self.configuration = configuration
        kinds = handlers.kinds.map(\.rawValue)
        environment = AttemptEnvironment(
            database: database, handlers: handlers, memory: self.capacity.memory, commits: counts,
            logger: logger)
        self.logger = logger
        failures = FailureLog(hasText: configuration.logsErrorTexts)
        idlePolling = Mutex(IdlePollingPolicy(interval: configuration.pollInterval))
        metrics = WorkerMetrics(queues: configuration.queues, cell: configuration.cell)
        // A claim or heartbeat that waits for a lock is retried before the statement timeout would end it.
        var own = database.configuration.forOwnStatements
        own.lockTimeout = Self.lockTimeout
        claims = Database(
            configuration: own,
            maximumConnections: min(
                configuration.claimConnections, configuration.queues.count * ClaimPlan.Connection.allCases.count),
            eagerConnections: 2, waitLimit: Self.claimWait, pool: "claims", logger: logger)
        control = Database(
            configuration: own, maximumConnections: 1, eagerConnections: 1, pool: "control", executor: controlThread,
            logger: logger)
        maintenanceConnections = Database(
            configuration: database.configuration.forOwnStatements, maximumConnections: 2, logger: logger)
        self.capacity.add(running)
    }

    /// A monotonic clock that goes on while the process is stopped.
    var uptime: Duration { ContinuousClock.now - start }

    /// Whether the worker stops: it no longer claims.
    var isStopping: Bool { flags.withLock(\.isStopping) }

    /// Whether wake-ups arrive.
    var listens: Bool { flags.withLock(\.listens) }

    /// Whether enqueues send a NOTIFY, so that no claim is needed before a wake-up.
    var isArmed: Bool { listens && idlePolling.withLock(\.isArmed) }

    /// Stops claiming. With `force`, running jobs get no grace period.
    func stop(force: Bool = false) {
        flags.withLock { flags in
            flags.isStopping = true
            flags.isForced = flags.isForced || force
        }
    }

    func isGraceOver(since stopped: ContinuousClock.Instant) -> Bool {
        flags.withLock(\.isForced) || stopped + configuration.grace <= .now
    }

    func set(listens: Bool) { flags.withLock { $0.listens = listens } }

    /// How many connections all that the worker does shares; nil if each has its own.
    var grantedConnections: Int? { flags.withLock(\.granted) }

    func set(granted: Int?) { flags.withLock { $0.granted = granted } }
}
