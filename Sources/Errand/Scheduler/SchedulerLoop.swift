import Logging
import Postgres

/// What a scheduler does over and over: reads the schedules, settles the ticks that are due, says when to look again.
struct SchedulerLoop {
    private let database: Database
    private let logger: Logger
    private let metrics = SchedulerMetrics()
    /// Not taken over yet.
    private var definitions: [ScheduleDefinition]
    /// By name, what was computed at the last turn.
    private var known: [String: Known] = [:]

    private struct Known {
        let version: Int64
        let schedule: Result<Schedule, ScheduleError>
        /// The tick after `lastTick`.
        var next: (lastTick: Timestamp, tick: Timestamp?)?
        /// Its jobs are refused by the database: it is tried again after this, and stops none of the others.
        var refusal: (until: ContinuousClock.Instant, reason: String)?
    }

    /// The longest pause between two looks, and so the time within which a change is noticed.
    static let longestPause: Duration = .milliseconds(900)
    /// The most ticks in one transaction.
    private static let batch = 500

    init(database: Database, definitions: [ScheduleDefinition], logger: Logger) {
        self.database = database
        self.definitions = definitions
        self.logger = logger
    }

    /// Settles what is due, each tick once; answers how long there is nothing to do, at most ``longestPause``.
    ///
    /// Costs a query and, for each schedule that isn't due, a comparison.
    mutating func turn() async throws -> Duration {
        try await takeOverDefinitions()
        let rows = try await database.query(StoredSchedule.all)
        // Time by the database has gone on since it answered: a pause that is counted from here never ends too early.
        let answered = ContinuousClock.now
        guard let (now, schedules) = try StoredSchedule.read(rows) else {
            known = [:]
            return Self.longestPause
        }
        let names = Set(schedules.map(\.name))
        known = known.filter { name, _ in names.contains(name) }
        var soonest: Timestamp?
        var reports: [Statement] = []
        for stored in schedules {
            let (next, problem) = try await tend(stored, at: now)
            if let next, next < soonest ?? .infinity { soonest = next }
            if next != stored.nextTick || problem != stored.problem {
                reports.append(
                    Statement(
                        "select errand.schedule_report_v1($1, $2, $3, $4)",
                        [stored.name, stored.version, next, problem]))
            }
        }
        if !reports.isEmpty { _ = try await database.pipeline(reports) }
        guard let soonest else { return Self.longestPause }
        let pause = min(Self.longestPause, soonest - now)
        return max(.zero, pause - (.now - answered))
    }

    private mutating func takeOverDefinitions() async throws {
        while let definition = definitions.first {
            do {
                let outcome = try await database.query(definition.statement).scalar(String.self)
                if outcome != "unchanged" {
                    logger.notice("schedule \(outcome)", metadata: ["schedule": "\(definition.name)"])
                }
            } catch {
                // A definition that can't be must not keep the others from running.
                guard error.code == .rejected, !error.isTransient else { throw error }
                logger.error("schedule refused", metadata: ["schedule": "\(definition.name)", "error": "\(error)"])
            }
            definitions.removeFirst()
        }
    }
}

// MARK: - One schedule
extension SchedulerLoop {
    /// Settles what is due of one schedule; answers its next tick, and what keeps it from ticking.
    private mutating func tend(
        _ stored: StoredSchedule, at now: Timestamp
    ) async throws -> (next: Timestamp?, problem: String?) {
        var entry = entry(for: stored)
        defer { known[stored.name] = entry }
        if let refusal = entry.refusal {
            if refusal.until > .now { return (nil, refusal.reason) }
            entry.refusal = nil
        }
        let schedule: Schedule
        switch entry.schedule {
        case .success(let known): schedule = known
        case .failure(let error): return (nil, error.description)
        }
        if entry.next?.lastTick != stored.lastTick {
            entry.next = (stored.lastTick, schedule.next(after: stored.lastTick))
        }
        guard let next = entry.next?.tick else { return (nil, "it never ticks again: there is no such date") }
        if next > now { return (stored.isPaused ? nil : next, nil) }
        do {
            try await settle(stored, schedule, at: now)
        } catch {
            guard error.code == .rejected, !error.isTransient else { throw error }
            let reason = "its jobs are refused: \(error.detail)"
            entry.refusal = (.now + .seconds(30), reason)
            logger.error("schedule refused", metadata: ["schedule": "\(stored.name)", "error": "\(error)"])
            return (nil, reason)
        }
        return (stored.isPaused ? nil : schedule.next(after: now), nil)
    }

    private func entry(for stored: StoredSchedule) -> Known {
        if let entry = known[stored.name], entry.version == stored.version { return entry }
        let schedule = Result { () throws(ScheduleError) in try Schedule(stored.times) }
        if case .failure(let error) = schedule {
            logger.error("schedule can't be read", metadata: ["schedule": "\(stored.name)", "error": "\(error)"])
        }
        return Known(version: stored.version, schedule: schedule)
    }

    private func settle(_ stored: StoredSchedule, _ schedule: Schedule, at now: Timestamp) async throws(PostgresError) {
        var due =
            stored.isPaused
            ? CatchUp.passOver(schedule, after: stored.lastTick, at: now)[...]
            : stored.catchUp.settle(schedule, after: stored.lastTick, at: now)[...]
        while !due.isEmpty {
            let part = due.prefix(Self.batch)
            due = due.dropFirst(Self.batch)
            let rows = try await database.query(
                Statement(
                    """
                    with held as materialized (
                        select errand.hold_schedule_v1($1, $4) as is_ours
                    )
                    select errand.tick_v1($1, due.tick, due.outcome, $4),
                        exists (select from errand.tick where tick.schedule = $1 and tick.tick = due.tick) as was_settled
                    from held
                    cross join unnest($2, $3) with ordinality as due(tick, outcome, place)
                    where held.is_ours
                    order by due.place
                    """,
                    [
                        stored.name, part.map(\.tick), part.map(\.outcome.rawValue), stored.version,
                    ]))
            // Somebody else holds it and settles these. Were the rest settled here, these might be passed over.
            if rows.isEmpty { return }
            guard let metrics else { continue }
            let (jobs, wereSettled) = (try rows.column(0, as: Int64?.self), try rows.column(1, as: Bool.self))
            for (index, tick) in part.enumerated()
            where jobs[index] != nil || !tick.outcome.givesJob && !wereSettled[index] {
                metrics.settled(tick, of: stored.name, at: now)
            }
        }
    }
}
