import Logging
import Postgres

struct Promotion: MaintenanceTask {
    let name = "promote"
    private let database: Database
    private let election: WorkerElection?
    private let foundParked: @Sendable () -> Void
    private let foundCrashed: @Sendable () -> Void
    private let foundBulk: @Sendable () -> Void
    private let start = ContinuousClock.now
    private var plan = PromotePlan()

    /// - Parameters:
    ///   - election: while it isn't won, calls are rare; nil if it always is.
    ///   - foundParked: called if ``Release`` has something to do.
    ///   - foundCrashed: called if ``CrashRelease`` has something to do.
    ///   - foundBulk: called if ``BulkAction`` has something to do.
    init(
        database: Database, election: WorkerElection?, foundParked: @escaping @Sendable () -> Void,
        foundCrashed: @escaping @Sendable () -> Void, foundBulk: @escaping @Sendable () -> Void
    ) {
        self.database = database
        self.election = election
        self.foundParked = foundParked
        self.foundCrashed = foundCrashed
        self.foundBulk = foundBulk
    }

    mutating func once() async throws -> MaintenanceDelay {
        let called = ContinuousClock.now
        let since = plan.since(at: called - start)
        let rows = try await database.query(
            Statement("select * from errand_internal.promote($1::int4, $2)", [PromotePlan.batch, since]))
        guard
            let (count, lastRunAt, waits, parked, crashed, bulk) = try rows.first?.decode(
                Int.self, Timestamp?.self, Bool.self, Bool.self, Bool.self, Bool.self)
        else {
            throw UnexpectedReply("errand_internal.promote", expected: "one row", came: "none")
        }
        if parked { foundParked() }
        if crashed { foundCrashed() }
        if bulk { foundBulk() }
        let ended = ContinuousClock.now
        let delay = plan.promoted(
            count, lastRunAt: lastRunAt, othersWait: waits, took: ended - called, at: ended - start)
        guard let election, !election.isElected, delay > .zero else { return .after(delay) }
        return .untilWoken(atMost: election.promotionDelay)
    }

    mutating func failed() { plan.failed() }
}

struct Release: MaintenanceTask {
    let database: Database
    let name = "release"

    mutating func once() async throws -> MaintenanceDelay {
        let called = ContinuousClock.now
        let othersWait = try await database.query("select errand_internal.release_parked()").scalar(Bool.self)
        return ReleasePlan.released(othersWait: othersWait, took: .now - called)
    }

    mutating func failed() {}
}

struct Rescue: MaintenanceTask {
    let database: Database
    let logger: Logger
    let name = "rescue"
    private let start = ContinuousClock.now
    private var plan = RescuePlan()

    init(database: Database, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    mutating func once() async throws -> MaintenanceDelay {
        let called = ContinuousClock.now
        let page = plan.page(at: called - start)
        let rows = try await database.query(Statement("select * from errand_internal.rescue($1)", [page]))
        guard
            let (lost, rescued, failed, nextPage, checkIn) = try rows.first?.decode(
                Int.self, Int.self, Int.self, Int64?.self, Int64?.self)
        else {
            throw UnexpectedReply("errand_internal.rescue", expected: "one row", came: "none")
        }
        if lost + rescued + failed > 0 {
            logger.warning(
                "workers were lost",
                metadata: [
                    "workers": .stringConvertible(lost), "jobs_rescued": .stringConvertible(rescued),
                    "jobs_failed": .stringConvertible(failed),
                ])
        }
        return .after(
            plan.rescued(nextPage: nextPage, checkIn: checkIn.map { .microseconds($0) }, took: .now - called))
    }

    /// The next call reads the same part.
    mutating func failed() {}
}

struct CrashRelease: MaintenanceTask {
    let database: Database
    let name = "release crashed jobs"

    mutating func once() async throws -> MaintenanceDelay {
        let othersWait = try await database.query("select errand_internal.release_crashed()").scalar(Bool.self)
        return CrashReleasePlan.released(othersWait: othersWait)
    }

    mutating func failed() {}
}

struct Statistics: MaintenanceTask {
    let database: Database
    let name = "statistics"
    let firstDelay = StatisticsPlan.interval

    mutating func once() async throws -> MaintenanceDelay {
        let called = ContinuousClock.now
        try await database.execute("select errand_internal.update_statistics()")
        return .after(StatisticsPlan.delay(after: .now - called))
    }

    mutating func failed() {}
}

/// The batches of what operators have requested by errand.start_bulk.
struct BulkAction: MaintenanceTask {
    let database: Database
    let name = "bulk"

    mutating func once() async throws -> MaintenanceDelay {
        let called = ContinuousClock.now
        let isMore = try await database.query("select errand_internal.run_bulk()").scalar(Bool.self)
        return BulkPlan.delay(after: .now - called, isMore: isMore)
    }

    mutating func failed() {}
}

struct Partitions: MaintenanceTask {
    let database: Database
    let name = "partitions"
    private var backoff = Backoff(first: .milliseconds(200), cap: .seconds(60))

    init(database: Database) { self.database = database }

    mutating func once() async throws -> MaintenanceDelay {
        guard try await change() else { return .after(backoff.next()) }
        backoff.reset()
        return .after(MaintainPlan.interval)
    }

    /// Returns false if another session reads the history, or creates or drops partitions. Then the last step changed
    /// nothing, and blocked others for 40 ms at most.
    private func change() async throws -> Bool {
        do {
            try await create()
            while try await database.query("select errand_internal.drop_partition()").scalar(Bool.self) {}
            return true
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            return false
        }
    }

    /// Each day is a transaction of its own, so that completions never wait for more than one of them.
    private func create() async throws(PostgresError) {
        for day in 0...MaintainPlan.daysAhead {
            try await database.execute(Statement("select errand_internal.make_partitions($1::int4)", [day]))
        }
    }

    mutating func failed() {}
}

struct Pruning: MaintenanceTask {
    let database: Database
    let logger: Logger
    let name = "prune"
    let firstDelay = MaintainPlan.prunesAfter
    private var isMore = false

    init(database: Database, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    mutating func once() async throws -> MaintenanceDelay {
        let called = ContinuousClock.now
        let atLeast: Duration = isMore ? .zero : MaintainPlan.atLeast
        let pruned = try await database.query(
            Statement(
                "select errand_internal.prune(at_least => $1 * interval '1 microsecond')",
                [atLeast.wholeMicroseconds])
        ).scalar(Int?.self)
        guard let pruned else { return .after(MaintainPlan.interval) }
        let ticks = try await database.query("select errand_internal.prune_ticks()").scalar(Int.self)
        logger.debug("pruned", metadata: ["records": .stringConvertible(pruned), "ticks": .stringConvertible(ticks)])
        isMore = max(pruned, ticks) >= MaintainPlan.batch
        return .after(MaintainPlan.pruned(max(pruned, ticks), took: .now - called))
    }

    mutating func failed() {}
}
