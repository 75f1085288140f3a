import Logging
import Postgres
import ServiceLifecycle
import Waiting

/// Maintains the queue: makes scheduled and parked jobs available, rescues jobs of lost workers, deletes old rows, and
/// refreshes the statistics of the operators' views.
///
/// A ``Worker`` runs it unless ``WorkerConfiguration/maintenance`` is false. Any number may run at once, and one is
/// enough: locks give each task to one of them, and of many workers only the three oldest make calls. An idle one takes
/// at most 2 % of the time.
public struct Maintenance: Service {
    private let database: Database
    private let logger: Logger

    /// - Parameters:
    ///   - database: the queue's database. Maintenance opens up to two connections of its own.
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
                let own = database.configuration.forOwnStatements
                await run(over: Database(configuration: own, maximumConnections: 2, logger: logger), until: stop)
            } onGracefulShutdown: {
                stop.raise()
            }
        } onCancel: {
            stop.raise()
        }
    }

    /// Runs until `stop` is raised, then finishes running statements.
    ///
    /// - Parameters:
    ///   - own: its connections, which it closes at the end.
    ///   - election: when a worker leaves the tasks to others; nil if they are always this process's.
    func run(over own: Database, until stop: Signal, election: WorkerElection? = nil) async {
        // Promotion goes on at any time, only less often.
        let promotion = MaintenanceLoop(logger)
        let others = (0..<7).map { _ in MaintenanceLoop(logger, mayRun: { election?.isElected ?? true }) }
        let (release, crashRelease, bulk) = (others[0], others[1], others[2])
        let loops = [promotion] + others
        election?.onElection { for loop in loops { loop.wake() } }
        // The loops ask the election, and would keep each other.
        defer { election?.onElection {} }
        await withTaskGroup { group in
            group.addTask { await release.run(Release(database: own)) }
            group.addTask { await crashRelease.run(CrashRelease(database: own)) }
            group.addTask {
                await promotion.run(
                    Promotion(
                        database: own, election: election, foundParked: release.wake, foundCrashed: crashRelease.wake,
                        foundBulk: bulk.wake))
            }
            group.addTask { await bulk.run(BulkAction(database: own)) }
            group.addTask { await others[3].run(Rescue(database: own, logger: logger)) }
            group.addTask { await others[4].run(Partitions(database: own)) }
            group.addTask { await others[5].run(Pruning(database: own, logger: logger)) }
            group.addTask { await others[6].run(Statistics(database: own)) }
            await stop.wait()
            for loop in loops { loop.stop() }
        }
        await own.close()
    }
}
