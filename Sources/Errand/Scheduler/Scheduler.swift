import Logging
import Postgres
import ServiceLifecycle

/// Enqueues the jobs of schedules when their ticks come.
///
/// Run any number over one database: each tick gives one job, whatever becomes of the others. Time is the database's,
/// so that hosts whose clocks differ agree. A schedule that is put, changed, paused or dropped is noticed within a
/// second.
public struct Scheduler: Service {
    private let database: Database
    private let definitions: [ScheduleDefinition]
    private let logger: Logger

    /// - Parameters:
    ///   - database: where schedules and jobs are. The scheduler opens up to two connections of its own to it.
    ///   - schedules: what the program brings along.
    ///   - logger: for what the scheduler does.
    public init(database: Database, schedules: [ScheduleDefinition] = [], logger: Logger) {
        self.database = database
        definitions = schedules
        self.logger = logger
    }

    /// Runs until a graceful shutdown or the end of its task. A database that can't be reached is waited for.
    public func run() async throws {
        let stop = Signal()
        let own = Database(configuration: database.configuration, maximumConnections: 2, logger: logger)
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
            "scheduling", metadata: ["schedules": "\(definitions.count)", "tzdata": "\(Zone.dataVersion ?? "unknown")"])
        var loop = SchedulerLoop(database: database, definitions: definitions, logger: logger)
        var backoff = Backoff()
        var throttle = LogThrottle()
        var pause = Duration.zero
        while await !stop.wait(atMost: pause) {
            do {
                pause = try await loop.untilLook > .zero ? loop.settle() : loop.turn()
                pause = min(pause, loop.untilLook)
                backoff.reset()
            } catch {
                loop.forgetTime()
                pause = backoff.next()
                if throttle.allowsLine() {
                    logger.warning(
                        "scheduling is interrupted", metadata: ["error": "\(error)", "again_in": "\(pause)"])
                }
            }
        }
    }
}
