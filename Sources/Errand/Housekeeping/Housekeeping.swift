import Logging
import Postgres
import ServiceLifecycle
import Waiting

/// Maintains the queue: makes scheduled and parked jobs available, rescues jobs of lost workers, deletes old rows, and
/// refreshes the statistics of the operators' views.
///
/// A ``Worker`` runs it unless ``WorkerConfiguration/housekeeping`` is false. Any number may run at once, and one is
/// enough: locks give each task to one of them. An idle one takes at most 2 % of the time.
public struct Housekeeping: Service {
    private let database: Database
    private let logger: Logger

    /// - Parameters:
    ///   - database: the queue's database. Housekeeping opens up to two connections of its own.
    ///   - logger: for interruptions, and for jobs of lost workers.
    public init(database: Database, logger: Logger) {
        self.database = database
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

    /// Runs until `stop` is raised, then finishes running statements.
    func run(until stop: Signal) async {
        let own = Database(configuration: database.configuration, maximumConnections: 2, logger: logger)
        let (release, isolation) = (MaintenanceLoop(logger), MaintenanceLoop(logger))
        let loops = [release, isolation] + (0..<6).map { _ in MaintenanceLoop(logger) }
        await withTaskGroup { group in
            group.addTask { await release.run(Release(database: own)) }
            group.addTask { await isolation.run(Isolation(database: own)) }
            group.addTask {
                await loops[2].run(Promotion(database: own, foundParked: release.wake, foundCrashed: isolation.wake))
            }
            group.addTask { await loops[3].run(Rescue(database: own, logger: logger)) }
            group.addTask { await loops[4].run(Partitions(database: own)) }
            group.addTask { await loops[5].run(Pruning(database: own, logger: logger)) }
            group.addTask { await loops[6].run(Statistics(database: own)) }
            group.addTask { await loops[7].run(BulkAction(database: own)) }
            await stop.wait()
            for loop in loops { loop.stop() }
        }
        await own.close()
    }
}
