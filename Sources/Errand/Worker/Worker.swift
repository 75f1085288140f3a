import Logging
import Postgres
import ServiceLifecycle
import Waiting

/// Claims jobs, runs them, and writes their outcomes, until it is stopped. It also runs ``Maintenance``.
///
/// ```swift
/// let worker = Worker(database: database, logger: logger) {
///     SendReceiptHandler(mail: mail)
/// }
/// try await ServiceGroup(services: [worker], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
/// Run any number of workers, on any number of hosts. Two workers never run the same job at the same time while both
/// keep their leases.
public struct Worker: Service {
    private let shared: WorkerState
    private let stopped = Signal()

    /// - Parameters:
    ///   - database: the queue's database. The worker opens connections of its own beside those of its pool, which is
    ///     for the handlers.
    ///   - configuration: queues, slots and limits.
    ///   - capacity: slots and memory shared with workers of other databases in this process; nil: all are its own.
    ///   - logger: for what the worker does and what fails.
    ///   - handlers: one for each kind of job that it runs.
    public init(
        database: Database, configuration: WorkerConfiguration = WorkerConfiguration(),
        sharing capacity: SharedCapacity? = nil, logger: Logger = Logger(label: "errand"),
        @HandlersBuilder handlers: () -> [any JobHandler]
    ) {
        self.init(
            database: database, configuration: configuration, sharing: capacity, logger: logger,
            handlers: Handlers(handlers()))
    }

    /// The same with handlers in a collection.
    public init(
        database: Database, configuration: WorkerConfiguration, sharing capacity: SharedCapacity? = nil,
        logger: Logger, handlers: Handlers
    ) {
        shared = WorkerState(
            database: database, handlers: handlers, configuration: configuration, sharing: capacity, logger: logger)
    }

    /// Runs until a graceful shutdown. Then it stops claiming, lets running jobs finish within the grace period, hands
    /// the others back uncounted, and returns. A cancelled task skips the grace period.
    ///
    /// If the database can't be reached, it waits. It returns only after a shutdown or cancellation.
    public func run() async throws {
        // Its own task: jobs must be handed back even if the caller's task was cancelled.
        let engine = Task {
            let isOver = Signal()
            async let maintenance: Void = maintain(unless: isOver)
            await Engine(shared: shared, stop: stopped).run()
            isOver.raise()
            shared.maintenance.stop()
            await maintenance
            if shared.grantedConnections != nil { await shared.share(connections: nil) }
        }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await engine.value
            } onGracefulShutdown: {
                stop()
            }
        } onCancel: {
            stop(force: true)
        }
    }

    private func maintain(unless isOver: Signal) async {
        guard shared.configuration.maintenance else { return }
        // Not before the worker is registered. On a copy of a database it never is, and nothing may be deleted there.
        while shared.identity.current == nil {
            if await isOver.wait(atMost: .milliseconds(100)) { return }
        }
        await Maintenance(database: shared.environment.database, logger: shared.logger)
            .run(over: shared.maintenanceConnections, at: shared.maintenance)
    }

    /// The id of the worker's lease; nil while it has none, and so may not claim.
    package var leaseID: Int64? { shared.identity.current }

    /// Whether enqueues wake it. Otherwise it polls.
    package var listens: Bool { shared.listens }

    package var configuration: WorkerConfiguration { shared.configuration }

    /// How many connections it needs at least, and how many all that it does shares; nil if on none.
    package var connections: (needed: Int, granted: Int?) { (shared.neededConnections, shared.grantedConnections) }

    /// Stops claiming and ends ``run()``, as a graceful shutdown does. With `force` there is no grace period.
    public func stop(force: Bool = false) {
        shared.stop(force: force)
        stopped.raise()
    }
}
