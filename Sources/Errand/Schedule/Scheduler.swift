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
    ///   - database: the database with schedules and jobs. The scheduler opens a connection of its own.
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
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await run(until: stop)
            } onGracefulShutdown: {
                stop.raise()
            }
        } onCancel: {
            stop.raise()
        }
    }

    /// A session of the database keeps the rules of a time zone as it has read them first. Plans are made by younger
    /// ones.
    private static let sessionAge: Duration = .seconds(50 * 60)

    private func makeDatabase() -> Database {
        Database(configuration: database.configuration.forOwnStatements, maximumConnections: 1, logger: logger)
    }

    private func run(until stop: Signal) async {
        logger.info("scheduling", metadata: ["schedules": .stringConvertible(definitions.count)])
        var own = makeDatabase()
        var renewal = ContinuousClock.now + Self.sessionAge
        var loop = SchedulerLoop(
            database: own, definitions: definitions, reads: reads, cell: cell, logger: logger)
        var backoff = Backoff()
        var throttle = LogThrottle()
        var delay = Duration.zero
        while await !stop.wait(atMost: delay) {
            if .now >= renewal {
                await own.close()
                own = makeDatabase()
                loop.database = own
                renewal = .now + Self.sessionAge
            }
            do {
                delay = try await loop.tick()
                backoff.reset()
            } catch {
                delay = backoff.next()
                if throttle.allowsLine() {
                    logger.warning(
                        "scheduling is interrupted",
                        metadata: ["error": "\(error)", "retry_in_seconds": .stringConvertible(delay / .seconds(1))])
                }
            }
        }
        await own.close()
    }
}
