import Errand
import Jobs
import Logging
import Postgres
import ServiceLifecycle
import Web

/// What a process does for one of its cells: worker, scheduler and maintenance, as far as it has them.
///
/// Each cell has its own connections, lease and circuit breakers. So one that is down, hangs or has another schema
/// holds up none of the others.
struct CellService: Service {
    /// What all cells of a process have.
    struct Parts: Sendable {
        /// Nil without a worker.
        let worker: WorkerConfiguration?
        /// Slots and memory of all cells; nil if there is one cell.
        let capacity: SharedCapacity?
        let jobs: JobServices?
        let isScheduler: Bool
    }

    private let cell: Cell
    private let environment: Environment
    private let database: Database
    private let handlers: CellHandlers?
    private let worker: Worker?
    private let scheduler: Scheduler?

    /// Opens no connection.
    init(_ cell: Cell, _ parts: Parts, _ environment: Environment) throws {
        self.cell = cell
        self.environment = environment
        let database = Database(
            configuration: cell.configuration,
            maximumConnections: try environment.settings.value(.connections) { Int($0) }, logger: cell.logger)
        self.database = database
        let handlers = try parts.jobs?.handlers(for: cell)
        self.handlers = handlers
        worker = parts.worker.flatMap { configuration in
            var configuration = configuration
            configuration.cell = cell.name
            configuration.endpoints = parts.jobs?.endpoints
            return handlers.map {
                Worker(
                    database: database, configuration: configuration, sharing: parts.capacity, logger: cell.logger,
                    handlers: $0.all)
            }
        }
        scheduler = parts.isScheduler ? Scheduler(database: database, cell: cell.name, logger: cell.logger) : nil
    }

    /// Runs what the cell has, once its database is ready.
    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await waitUntilReady() }
        } catch is CancellationError {
            return
        }
        // Each ends at a graceful shutdown.
        try await withThrowingDiscardingTaskGroup { group in
            for service in services { group.addTask { try await service.run() } }
        }
    }

    /// A worker runs its own maintenance.
    var services: [any Service] {
        var services: [any Service] = worker == nil ? [Maintenance(database: database, logger: cell.logger)] : []
        if let scheduler { services.append(scheduler) }
        if let worker { services.append(worker) }
        return services
    }

    /// What the cell needs, beside the database.
    var readiness: [ReadinessCheck] {
        let checks =
            (worker?.readiness ?? []) + (handlers?.readiness(of: database) ?? []) + (scheduler?.readiness ?? [])
        return checks.map { $0.of(cell: cell.name) }
    }

    /// Closes the connections, after ``run()``.
    func stop() async {
        await handlers?.stop()
        await database.close()
    }
}

// MARK: - Waiting for the database
extension CellService {
    /// Waits until the database can be reached, takes writes and is no copy of another.
    ///
    /// - Throws: if waiting would not help: the schema is missing, older or too new, or the user lacks rights. One of
    ///   several cells is waited for then too, since the others go on.
    func waitUntilReady() async throws {
        var backoff = Backoff(first: .milliseconds(100), cap: .seconds(2))
        var lines = WaitLines()
        while true {
            try Task.checkCancellation()
            let reason: String
            do {
                guard let obstacle = try await obstacle() else {
                    try await handlers?.check(on: database, cell.logger)
                    return
                }
                reason = "\(obstacle)"
            } catch let error as PostgresError where error.isTransient {
                reason = "\(error)"
            } catch  where cell.name != nil {
                reason = (Failure(error) ?? Failure(code: Failure.failed, "\(error)")).message
            }
            // A connection that was being opened fails when the process stops.
            try Task.checkCancellation()
            if lines.allow(reason) {
                cell.logger.warning("waiting for the database", metadata: ["reason": "\(reason)"])
            }
            try await Task.sleep(for: backoff.next())
        }
    }

    private func obstacle() async throws -> StartObstacle? {
        let (obstacle, newer) = try await environment.withConnection(
            to: cell.configuration, needsSchema: false
        ) { connection in
            try await connection.startObstacle(for: environment)
        }
        if obstacle == nil, let newer {
            cell.logger.notice(
                "the database is newer than this program, which runs on", metadata: ["migrated_by": "\(newer)"])
        }
        return obstacle
    }
}
