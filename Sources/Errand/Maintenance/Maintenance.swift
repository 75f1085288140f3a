import Logging
import Postgres
import ServiceLifecycle
import Waiting

/// Maintains the queue: makes scheduled and parked jobs available, rescues jobs of lost workers, deletes old rows, and
/// refreshes the statistics of the operators' views.
///
/// A ``Worker`` runs it unless ``WorkerConfiguration/maintenance`` is false. Any number may run at once, and one is
/// enough: the database says which task is due (`errand_internal.maintain_v1`). Without much to do they take together
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
        let timers = MaintenanceTimers()
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                let own = database.configuration.forOwnStatements
                await run(over: Database(configuration: own, maximumConnections: 2, logger: logger), at: timers)
            } onGracefulShutdown: {
                timers.stop()
            }
        } onCancel: {
            timers.stop()
        }
    }

    /// Runs until the timers are stopped, then finishes running statements and closes its connections, `own`.
    func run(over own: Database, at timers: MaintenanceTimers) async {
        await withTaskGroup { group in
            for timer in [timers.short, timers.long] {
                group.addTask { await MaintenanceLoop(database: own, timer: timer, logger: logger).run() }
            }
        }
        await own.close()
    }
}
