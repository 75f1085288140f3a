import Logging
import Postgres
import Synchronization
import Tracing

/// What the parts of one worker share.
final class WorkerState: Sendable {
    let configuration: WorkerConfiguration
    let handlers: Handlers
    let kinds: [String]
    /// For the handlers.
    let database: Database
    /// For claims and ends: up to two connections a queue; two in all while there is little to do.
    let claims: Database
    /// For heartbeats and all that must not wait behind a claim.
    let control: Database
    let logger: Logger
    let identity = Identity()
    let running = Running()
    let suspects = Suspects()
    let counts = FinishedCounts()
    let failures = FailureLog()
    /// Nil where nobody collects metrics.
    let metrics: WorkerMetrics?
    /// Nil where nobody collects traces.
    let tracer = InstrumentationSystem.tracerIfAny
    let notes = NoteBook()
    let memory: MemoryBudget
    /// Rings when a queue has fallen asleep.
    let dozed = Signal()
    let doze: Mutex<DozePolicy>
    let keeper = KeeperBell()
    private let start = ContinuousClock.now
    /// How long a statement of the worker's own waits for a lock.
    private static let lockTimeout: Duration = .seconds(2)
    private struct Flags {
        var isStopping = false
        /// The grace was cut short.
        var isForced = false
        var listens = false
    }

    private let flags = Mutex(Flags())

    init(database: Database, handlers: Handlers, configuration: WorkerConfiguration, logger: Logger) {
        self.configuration = configuration
        self.handlers = handlers
        self.kinds = handlers.kinds.map(\.rawValue)
        self.database = database
        self.logger = logger
        memory = MemoryBudget(bytes: configuration.memory)
        doze = Mutex(DozePolicy(interval: configuration.pollInterval))
        metrics = WorkerMetrics(queues: configuration.queues.keys)
        // A claim or a heartbeat that waits behind somebody's lock is better tried again than ended at the statement timeout.
        var own = database.configuration
        own.lockTimeout = Self.lockTimeout
        claims = Database(
            configuration: own,
            maximumConnections: configuration.queues.count * ClaimLoop.Turn.allCases.count,
            eagerConnections: 2, logger: logger)
        control = Database(configuration: own, maximumConnections: 1, logger: logger)
    }

    /// A clock that only moves forward, and that goes on while the process is stopped.
    var uptime: Duration { ContinuousClock.now - start }

    /// No claims any more.
    var isStopping: Bool { flags.withLock(\.isStopping) }

    /// Wake-ups arrive.
    var listens: Bool { flags.withLock(\.listens) }

    /// From now on nothing is claimed; with `force`, what runs gets no grace.
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
}
