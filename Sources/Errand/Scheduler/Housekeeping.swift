import Logging
import Postgres
import ServiceLifecycle

/// Keeps the queue in order: puts scheduled and parked jobs in line, takes back what lost workers held, drops what is
/// too old, and counts for the views of ops.
///
/// A ``Worker`` runs it by itself, unless ``WorkerConfiguration/housekeeping`` is false. Any number may run at once, and
/// one is enough: the first to come does the work. Each takes at most 2 % of the time while there is nothing to do.
public struct Housekeeping: Service {
    private let database: Database
    private let logger: Logger

    /// - Parameters:
    ///   - database: where the queue is. Housekeeping opens up to two connections of its own to it.
    ///   - logger: for interruptions, and for jobs of lost workers.
    public init(database: Database, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    /// Runs until a graceful shutdown or the end of its task. A database that can't be reached is waited for.
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

    /// Runs until `stop` is raised, then finishes the statements that are under way.
    func run(until stop: Signal) async {
        let stops = (0..<6).map { _ in Signal() }
        let own = Database(configuration: database.configuration, maximumConnections: 2, logger: logger)
        await withTaskGroup { group in
            group.addTask { await run(Promotion(database: own), until: stops[0]) }
            group.addTask { await run(Rescue(database: own, logger: logger), until: stops[1]) }
            group.addTask { await run(Maintenance(database: own, logger: logger), until: stops[2]) }
            group.addTask { await run(Stock(database: own), until: stops[3]) }
            group.addTask { await run(Isolation(database: own), until: stops[4]) }
            group.addTask { await run(Release(database: own), until: stops[5]) }
            await stop.wait()
            for stop in stops { stop.raise() }
        }
        await own.close()
    }

    private func run(_ duty: consuming some Duty, until stop: Signal) async {
        var duty = duty
        var backoff = Backoff()
        var throttle = LogThrottle()
        var pause = Duration.zero
        while await !stop.wait(atMost: pause) {
            do {
                pause = try await duty.once()
                backoff.reset()
            } catch {
                duty.failed()
                pause = backoff.next()
                if throttle.allowsLine() {
                    logger.warning(
                        "housekeeping is interrupted",
                        metadata: ["duty": "\(duty.name)", "error": "\(error)", "again_in": "\(pause)"])
                }
            }
        }
    }
}

// MARK: - The duties
/// One thing to be done over and over.
private protocol Duty: Sendable {
    var name: String { get }
    /// Does it once; answers the pause until it is to be done again.
    mutating func once() async throws -> Duration
    mutating func failed()
}

private struct Promotion: Duty {
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
            throw UnexpectedAnswer("errand.promote_v1", expected: "one row", came: "none")
        }
        return plan.promoted(count, lastRunAt: lastRunAt, othersWait: waits, took: .now - called)
    }

    mutating func failed() { plan.failed() }
}

private struct Release: Duty {
    let database: Database
    let name = "release"

    mutating func once() async throws -> Duration {
        let called = ContinuousClock.now
        let othersWait = try await database.query("select errand.release_parked_v1()").scalar(Bool.self)
        return ReleasePlan.released(othersWait: othersWait, took: .now - called)
    }

    mutating func failed() {}
}

private struct Rescue: Duty {
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
            throw UnexpectedAnswer("errand.rescue_v1", expected: "one row", came: "none")
        }
        if lost + rescued + failed > 0 {
            logger.warning(
                "workers were lost",
                metadata: ["workers": "\(lost)", "jobs_back_in_line": "\(rescued)", "jobs_failed": "\(failed)"])
        }
        return plan.rescued(nextPage: nextPage, took: .now - called)
    }

    /// The next call reads the same part.
    mutating func failed() {}
}

private struct Isolation: Duty {
    let database: Database
    let name = "isolate"

    mutating func once() async throws -> Duration {
        let othersWait = try await database.query("select errand.release_crashed_v1()").scalar(Bool.self)
        return othersWait ? IsolationPlan.interval : IsolationPlan.idleInterval
    }

    mutating func failed() {}
}

private struct Stock: Duty {
    let database: Database
    let name = "statistics"

    mutating func once() async throws -> Duration {
        let called = ContinuousClock.now
        try await database.execute("select errand.refresh_statistics_v1()")
        return StockPlan.pause(after: .now - called)
    }

    mutating func failed() {}
}

private struct Maintenance: Duty {
    let database: Database
    let logger: Logger
    let name = "maintain"

    /// Partitions come first: a job can end without the partition of its day, but only into the default one, for good.
    mutating func once() async throws -> Duration {
        let called = ContinuousClock.now
        let isDone = try await changePartitions()
        let pruned = try await database.query("select errand.prune_v1()").scalar(Int.self)
        let ticks = try await database.query("select errand.prune_ticks_v1()").scalar(Int.self)
        logger.debug("maintained", metadata: ["records_pruned": "\(pruned)", "ticks_pruned": "\(ticks)"])
        guard isDone else { return MaintainPlan.again }
        return MaintainPlan.maintained(removed: max(pruned, ticks), took: .now - called)
    }

    /// Each step is a transaction of its own, so that completions never wait for more than one of them.
    /// Returns false where somebody reads the history just now, or changes the same partition: the step changed nothing,
    /// and nobody was held up.
    private func changePartitions() async throws -> Bool {
        do {
            try await database.execute("select errand.make_partitions_v1()")
            while try await database.query("select errand.drop_partition_v1()").scalar(Bool.self) {}
            return true
        } catch  where Self.statesOfOthers.contains(error.sqlState) {
            return false
        }
    }

    /// Lock not available; a partition that another process has just made (duplicate table, unique violation) or dropped
    /// (undefined table).
    private static let statesOfOthers: Set<String?> = ["55P03", "42P07", "23505", "42P01"]

    mutating func failed() {}
}
