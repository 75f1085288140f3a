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
        let stops = (0..<7).map { _ in Signal() }
        let own = Database(configuration: database.configuration, maximumConnections: 2, logger: logger)
        await withTaskGroup { group in
            group.addTask { await run(Promotion(database: own), until: stops[0]) }
            group.addTask { await run(Rescue(database: own, logger: logger), until: stops[1]) }
            group.addTask { await run(Partitions(database: own), until: stops[2]) }
            group.addTask { await run(Pruning(database: own, logger: logger), until: stops[3]) }
            group.addTask { await run(Statistics(database: own), until: stops[4]) }
            group.addTask { await run(Isolation(database: own), until: stops[5]) }
            group.addTask { await run(Release(database: own), until: stops[6]) }
            await stop.wait()
            for stop in stops { stop.raise() }
        }
        await own.close()
    }

    private func run(_ task: consuming some MaintenanceTask, until stop: Signal) async {
        var task = task
        var backoff = Backoff()
        var throttle = LogThrottle()
        var delay = Duration.zero
        while await !stop.wait(atMost: delay) {
            do {
                delay = try await task.once()
                backoff.reset()
            } catch {
                task.failed()
                delay = backoff.next()
                if throttle.allowsLine() {
                    logger.warning(
                        "housekeeping is interrupted",
                        metadata: ["task": "\(task.name)", "error": "\(error)", "retry_in": "\(delay)"])
                }
            }
        }
    }
}

// MARK: - Tasks
/// A maintenance task that is repeated.
private protocol MaintenanceTask: Sendable {
    var name: String { get }
    /// Runs the task once, and returns the delay until its next run.
    mutating func once() async throws -> Duration
    mutating func failed()
}

private struct Promotion: MaintenanceTask {
    let database: Database
    let name = "promote"
    private let start = ContinuousClock.now
    private var plan = PromotePlan()

    init(database: Database) { self.database = database }

    mutating func once() async throws -> Duration {
        let called = ContinuousClock.now
        let since = plan.since(at: called - start)
        let rows = try await database.query(
            Statement("select * from errand.promote_v1($1::int4, $2)", [PromotePlan.batch, since]))
        guard let (count, lastRunAt, waits) = try rows.first?.decode(Int.self, Timestamp?.self, Bool.self) else {
            throw UnexpectedReply("errand.promote_v1", expected: "one row", came: "none")
        }
        return plan.promoted(count, lastRunAt: lastRunAt, othersWait: waits, took: .now - called)
    }

    mutating func failed() { plan.failed() }
}

private struct Release: MaintenanceTask {
    let database: Database
    let name = "release"

    mutating func once() async throws -> Duration {
        let called = ContinuousClock.now
        let othersWait = try await database.query("select errand.release_parked_v1()").scalar(Bool.self)
        return ReleasePlan.released(othersWait: othersWait, took: .now - called)
    }

    mutating func failed() {}
}

private struct Rescue: MaintenanceTask {
    let database: Database
    let logger: Logger
    let name = "rescue"
    private let start = ContinuousClock.now
    private var plan = RescuePlan()

    init(database: Database, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    mutating func once() async throws -> Duration {
        let called = ContinuousClock.now
        let page = plan.page(at: called - start)
        let rows = try await database.query(Statement("select * from errand.rescue_v1($1)", [page]))
        guard let (lost, rescued, failed, nextPage) = try rows.first?.decode(Int.self, Int.self, Int.self, Int64?.self)
        else {
            throw UnexpectedReply("errand.rescue_v1", expected: "one row", came: "none")
        }
        if lost + rescued + failed > 0 {
            logger.warning(
                "workers were lost",
                metadata: ["workers": "\(lost)", "jobs_rescued": "\(rescued)", "jobs_failed": "\(failed)"])
        }
        return plan.rescued(nextPage: nextPage, took: .now - called)
    }

    /// The next call reads the same part.
    mutating func failed() {}
}

private struct Isolation: MaintenanceTask {
    let database: Database
    let name = "isolate"

    mutating func once() async throws -> Duration {
        let othersWait = try await database.query("select errand.release_crashed_v1()").scalar(Bool.self)
        return othersWait ? IsolationPlan.interval : IsolationPlan.idleInterval
    }

    mutating func failed() {}
}

private struct Statistics: MaintenanceTask {
    let database: Database
    let name = "statistics"

    mutating func once() async throws -> Duration {
        let called = ContinuousClock.now
        try await database.execute("select errand.refresh_statistics_v1()")
        return StatisticsPlan.delay(after: .now - called)
    }

    mutating func failed() {}
}

private struct Partitions: MaintenanceTask {
    let database: Database
    let name = "partitions"
    private var backoff = Backoff(first: .milliseconds(200), cap: .seconds(60))

    init(database: Database) { self.database = database }

    mutating func once() async throws -> Duration {
        guard try await change() else { return backoff.next() }
        backoff.reset()
        return MaintainPlan.interval
    }

    /// Returns false if another session reads the history, or creates or drops partitions. Then the last step changed
    /// nothing, and blocked others for 40 ms at most.
    private func change() async throws -> Bool {
        do {
            try await create()
            while try await database.query("select errand.drop_partition_v1()").scalar(Bool.self) {}
            return true
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            return false
        }
    }

    /// Each day is a transaction of its own, so that completions never wait for more than one of them.
    private func create() async throws(PostgresError) {
        for day in 0...MaintainPlan.daysAhead {
            try await database.execute(Statement("select errand.make_partitions_v1($1::int4)", [day]))
        }
    }

    mutating func failed() {}
}

private struct Pruning: MaintenanceTask {
    let database: Database
    let logger: Logger
    let name = "prune"

    mutating func once() async throws -> Duration {
        let called = ContinuousClock.now
        let pruned = try await database.query("select errand.prune_v1()").scalar(Int.self)
        let ticks = try await database.query("select errand.prune_ticks_v1()").scalar(Int.self)
        logger.debug("pruned", metadata: ["records": "\(pruned)", "ticks": "\(ticks)"])
        return MaintainPlan.pruned(max(pruned, ticks), took: .now - called)
    }

    mutating func failed() {}
}
