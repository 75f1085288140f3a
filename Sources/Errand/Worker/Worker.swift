import Logging
import Postgres
import ServiceLifecycle

/// Claims jobs, runs them, and writes their outcomes, until it is asked to stop. It runs ``Housekeeping`` as well.
///
/// ```swift
/// let worker = Worker(database: database, logger: logger) {
///     SendReceiptHandler(mail: mail)
/// }
/// try await ServiceGroup(services: [worker], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
/// Run any number, on any number of hosts. Two never run the same job at the same time while both keep their leases.
public struct Worker: Service {
    private let shared: WorkerState
    private let stopped = Signal()

    public init(
        database: Database, configuration: WorkerConfiguration = WorkerConfiguration(),
        logger: Logger = Logger(label: "errand"), @HandlersBuilder handlers: () -> [any JobHandler]
    ) {
        self.init(
            database: database, configuration: configuration, logger: logger, handlers: Handlers(handlers()))
    }

    public init(database: Database, configuration: WorkerConfiguration, logger: Logger, handlers: Handlers) {
        shared = WorkerState(database: database, handlers: handlers, configuration: configuration, logger: logger)
    }

    /// Runs until a graceful shutdown: then it claims no more, lets running jobs finish within the grace period, hands
    /// the others back uncounted, and returns. A cancelled task skips the grace.
    ///
    /// A database that can't be reached is waited for; nothing but the end of its task makes it return.
    public func run() async throws {
        // Its own task: what is handed back at last must be written though the caller's task was cancelled.
        let engine = Task {
            let isOver = Signal()
            async let housekeeping: Void = keepHouse(until: isOver)
            await Engine(shared: shared, stop: stopped).run()
            isOver.raise()
            await housekeeping
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

    private func keepHouse(until stop: Signal) async {
        guard shared.configuration.housekeeping else { return }
        // Not before the worker is registered: on a copy of a database it never is, and nothing may be deleted there.
        while shared.identity.current == nil {
            if await stop.wait(atMost: .milliseconds(100)) { return }
        }
        await Housekeeping(database: shared.environment.database, logger: shared.logger).run(until: stop)
    }

    /// Whether it has a lease at the moment, and so may claim.
    package var isRegistered: Bool { shared.identity.current != nil }

    /// Claims no more and lets ``run()`` come to its end, as a graceful shutdown does; with `force` without any grace.
    public func stop(force: Bool = false) {
        shared.stop(force: force)
        stopped.raise()
    }
}
