import Foundation
import Logging
import Postgres
import Waiting

/// The loop of a scheduler: reads the schedules, records the due ticks, and returns when to go on.
///
/// A read fetches all schedules. Between two reads the loop computes what is due. Time is the database's: it is fetched
/// with each read, and counted on from there.
struct SchedulerLoop {
    let database: Database
    let logger: Logger
    let metrics: SchedulerMetrics?
    /// Definitions that are not stored yet.
    private var definitions: [ScheduleDefinition]
    /// As of the last read, in its order.
    var known: [KnownSchedule] = []
    /// When each known schedule is due. It is a separate array because it is searched before each wait.
    var dueFrom: [Timestamp] = []
    private let reads: SchedulerReads
    private var clock: Clock?
    private var skew = ClockSkew()
    private var nextRead = ContinuousClock.now

    /// The time of the database's clock, and when it arrived here. Counted from there, it is never ahead.
    private struct Clock {
        let time: Timestamp
        let readAt: ContinuousClock.Instant
        /// This host's time before and after the query.
        let host: (sent: Date, received: Date)
    }

    /// The longest delay between two reads, and so the time within which a change is noticed.
    static let longestDelay: Duration = .milliseconds(900)

    init(
        database: Database, definitions: [ScheduleDefinition], reads: SchedulerReads = SchedulerReads(),
        cell: String? = nil, logger: Logger
    ) {
        self.database = database
        self.definitions = definitions
        self.reads = reads
        metrics = SchedulerMetrics(cell: cell)
        self.logger = logger
    }

    /// The database's time, never ahead of it; nil before the first read.
    private var now: Timestamp? {
        clock.map { clock in
            let since = ContinuousClock.now - clock.readAt
            // A clock that is being corrected runs slower than this one by up to 1 in 2,000.
            return clock.time + (since - since / 2000)
        }
    }

    /// The delay until the next read; zero if it is due.
    var untilRead: Duration { clock == nil ? .zero : max(.zero, nextRead - .now) }

    /// Forces a read of the clock, after an error that may be the loss of the server.
    mutating func resetClock() { clock = nil }

    /// Reads the schedules, and records due ticks during and after the read. Returns the delay until the next due tick.
    ///
    /// Costs a query of all schedules, and a comparison for each.
    mutating func refresh() async throws -> Duration {
        try await takeOverDefinitions()
        let (begun, arrived, database) = (ContinuousClock.now, Signal(), database)
        async let reading = Self.read(at: database, raising: arrived)
        if clock != nil {
            var delay = try await record()
            while await !arrived.wait(atMost: delay) { delay = try await record() }
        }
        try await take(try await reading, begun: begun)
        nextRead = begun + Self.longestDelay
        let delay = try await record()
        return delay
    }

    /// Records due ticks, each once. Returns the delay until the next one, at most ``longestDelay``.
    ///
    /// Without a due tick it sends nothing to the database.
    mutating func record() async throws -> Duration {
        guard let now else { return .zero }
        let due = dueFrom.indices.filter { dueFrom[$0] <= now }.sorted { dueFrom[$0] < dueFrom[$1] }
        try await record(due, at: now)
        guard let soonest = dueFrom.min(), soonest < .infinity, let time = self.now else { return Self.longestDelay }
        return max(.zero, min(Self.longestDelay, soonest - time))
    }
}

// MARK: - Reading
extension SchedulerLoop {
    private struct Reading: Sendable {
        let schedules: [StoredSchedule]
        let clock: Clock
    }

    private static func read(at database: Database, raising arrived: Signal) async throws -> Reading {
        defer { arrived.raise() }
        let schedules = try StoredSchedule.read(try await database.query(StoredSchedule.all))
        // A separate query: reading many schedules takes so long that their time would be late.
        let sent = Date.now
        let time = try await database.query("select clock_timestamp()").scalar(Timestamp.self)
        return Reading(schedules: schedules, clock: Clock(time: time, readAt: .now, host: (sent, .now)))
    }

    private mutating func take(_ reading: Reading, begun: ContinuousClock.Instant) async throws {
        let clock = reading.clock
        self.clock = clock
        skew.log(server: clock.time, sent: clock.host.sent, received: clock.host.received, to: logger)
        reads.add()
        metrics?.read(at: reading.clock.time)
        let now = reading.clock.time
        let before = Dictionary(uniqueKeysWithValues: known.map { ($0.stored.name, $0) })
        var reports: [Int] = []
        known = reading.schedules.enumerated().map { index, stored in
            guard var schedule = before[stored.name], schedule.stored.version == stored.version else {
                let schedule = KnownSchedule(stored)
                if case .failure(let error) = schedule.schedule {
                    logger.error(
                        "schedule can't be read", metadata: ["schedule": "\(stored.name)", "error": "\(error)"])
                }
                if schedule.isReportDue(at: now) { reports.append(index) }
                return schedule
            }
            if schedule.seen(stored, begun: begun), schedule.isReportDue(at: now) { reports.append(index) }
            return schedule
        }
        dueFrom = known.map { $0.isDueFrom(at: now) }
        try await report(reports, at: now)
    }

    private mutating func takeOverDefinitions() async throws {
        while let definition = definitions.first {
            do {
                let outcome = try await database.query(definition.statement).scalar(String.self)
                if outcome != "unchanged" {
                    logger.notice("schedule \(outcome)", metadata: ["schedule": "\(definition.name)"])
                }
            } catch {
                // A malformed definition must not keep the others from running.
                guard error.code == .rejected, !error.isTransient else { throw error }
                logger.error("schedule refused", metadata: ["schedule": "\(definition.name)", "error": "\(error)"])
            }
            definitions.removeFirst()
        }
    }
}
