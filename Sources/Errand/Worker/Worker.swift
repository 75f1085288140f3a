import Logging
import Postgres
import ServiceLifecycle

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
    private let engine: Engine

    /// - Parameters:
    ///   - database: the queue's database. The worker opens connections of its own beside those of its pool, which is
    ///     for the handlers.
    ///   - configuration: queues, slots and limits.
    ///   - capacity: slots and memory shared with workers of other databases in this process; nil: all are its own.
    ///   - logger: for what the worker does and what fails.
    ///   - middleware: what runs around each handler, outermost first.
    ///   - handlers: one for each kind of job that it runs.
    public init(
        database: Database, configuration: WorkerConfiguration = WorkerConfiguration(),
        sharing capacity: SharedCapacity? = nil, logger: Logger = Logger(label: "errand"),
        middleware: [any Middleware] = [], @HandlersBuilder handlers: () -> [any JobHandler]
    ) {
        self.init(
            database: database, configuration: configuration, sharing: capacity, logger: logger,
            handlers: Handlers(handlers(), middleware: middleware))
    }

    /// The same with handlers in a collection.
    public init(
        database: Database, configuration: WorkerConfiguration, sharing capacity: SharedCapacity? = nil,
        logger: Logger, handlers: Handlers
    ) {
        engine = Engine(
            database: database, handlers: handlers, configuration: configuration, sharing: capacity, logger: logger)
    }

    /// Runs until a graceful shutdown. Then it stops claiming, lets running jobs finish within the grace period, hands
    /// the others back uncounted, and returns. A cancelled task skips the grace period.
    ///
    /// If the database can't be reached, it waits. It returns only after a shutdown or cancellation.
    public func run() async throws {
        // Its own task: jobs must be handed back even if the caller's task was cancelled.
        let running = Task { await engine.run() }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await running.value
            } onGracefulShutdown: {
                stop()
            }
        } onCancel: {
            stop(force: true)
        }
    }

    private var environment: ClaimEnvironment { engine.environment }

    /// The id of the worker's lease; nil while it has none, and so may not claim.
    package var leaseID: Int64? { environment.identity.current }

    /// Whether enqueues wake it. Otherwise it polls.
    package var listens: Bool { environment.idle.listens }

    package var configuration: WorkerConfiguration { environment.configuration }

    /// How many connections it needs at least, and how many all that it does shares; nil if on none.
    package var connections: (needed: Int, granted: Int?) {
        (environment.connections.needed, environment.connections.granted)
    }

    /// Stops claiming and ends ``run()``, as a graceful shutdown does. With `force` there is no grace period.
    public func stop(force: Bool = false) { environment.stop.make(force: force) }
}
