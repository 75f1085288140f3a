import Logging
import Postgres
import ServiceLifecycle
import Waiting

/// Enqueues the jobs of schedules when they are due.
///
/// Run any number of schedulers on one database: each tick gives one job, even if schedulers crash. Time is taken from
/// the database, so hosts whose clocks differ agree. A schedule that is put, changed, paused or dropped is noticed
/// within a second.
public struct Scheduler: Service {
    private let database: Database
    private let definitions: [ScheduleDefinition]
    private let cell: String?
    private let logger: Logger
    /// When the schedules were read last; nil before the first read.
    package var lastRead: ContinuousClock.Instant? { reads.last }
    private let reads = SchedulerReads()

    /// - Parameters:
    ///   - database: the database with schedules and jobs. The scheduler opens up to two connections of its own.
    ///   - schedules: schedules that the program defines.
    ///   - cell: the name of the database among several of this process. Metrics and log lines have it as `cell`.
    ///   - logger: for changes and failures of schedules.
    public init(
        database: Database, schedules: [ScheduleDefinition] = [], cell: String? = nil, logger: Logger
    ) {
        var logger = logger
        if let cell { logger[metadataKey: "cell"] = "\(cell)" }
        self.database = database
        definitions = schedules
        self.cell = cell
        self.logger = logger
    }

    /// Runs until a graceful shutdown or the cancellation of its task. If the database can't be reached, it waits.
    public func run() async throws {
        let stop = Signal()
        let own = Database(
            configuration: database.configuration.forOwnStatements, maximumConnections: 2, logger: logger)
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await run(on: own, until: stop)
            } onGracefulShutdown: {
                stop.raise()
            }
        } onCancel: {
            stop.raise()
        }
        await own.close()
    }

    private func run(on database: Database, until stop: Signal) async {
        logger.info(
            "scheduling",
            metadata: [
                "schedules": .stringConvertible(definitions.count), "tzdata": "\(Zone.dataVersion ?? "unknown")",
            ])
        var loop = SchedulerLoop(
            database: database, definitions: definitions, reads: reads, cell: cell, logger: logger)
        var backoff = Backoff()
        var throttle = LogThrottle()
        var delay = Duration.zero
        while await !stop.wait(atMost: delay) {
            do {
                delay = try await loop.untilRead > .zero ? loop.record() : loop.refresh()
                delay = min(delay, loop.untilRead)
                backoff.reset()
            } catch {
                loop.resetClock()
                delay = backoff.next()
                if throttle.allowsLine() {
                    logger.warning(
                        "scheduling is interrupted",
                        metadata: ["error": "\(error)", "retry_in_seconds": .stringConvertible(delay / .seconds(1))])
                }
            }
        }
    }
}
