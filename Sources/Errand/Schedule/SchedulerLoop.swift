import Foundation
import Logging
import Postgres
import Waiting

/// The loop of a scheduler: records the due ticks, and returns when to go on. What is due, and what becomes of it, the
/// database decides.
struct SchedulerLoop {
    var database: Database
    private let logger: Logger
    private let metrics: SchedulerMetrics?
    private let reads: SchedulerReads
    /// Definitions that are not stored yet.
    private var definitions: [ScheduleDefinition]
    /// Schedules that were due earlier than this are recorded; nil reads all.
    private var mark: Timestamp?
    private var nextWideRead = ContinuousClock.now
    private var nextWholeRead = ContinuousClock.now
    private var skew = ClockSkew()

    /// The longest delay between two calls, and so the time within which a new schedule is noticed.
    static let longestDelay: Duration = .milliseconds(900)
    /// How often a call reads from a minute before the mark. It finds a schedule whose transaction stayed open for more
    /// than half a second.
    private static let wideReadEvery: Duration = .seconds(10)
    /// How often all schedules are read, for one whose transaction stayed open for longer. Beside a held snapshot that
    /// takes a while.
    private static let wholeReadEvery: Duration = .seconds(600)

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

    /// Records the ticks that are due, of up to 100 schedules. Returns the delay until the next one, at most
    /// ``longestDelay``: zero if more are due.
    mutating func tick() async throws -> Duration {
        try await takeOverDefinitions()
        if .now >= nextWholeRead {
            mark = nil
            nextWholeRead = .now + Self.wholeReadEvery
        } else if .now >= nextWideRead, let mark {
            self.mark = Timestamp(microseconds: mark.microseconds - 60_000_000)
            nextWideRead = .now + Self.wideReadEvery
        }
        let sent = Date.now
        let start = mark
        // A call that fails may be the loss of the server and of its last commits. The next one reads all.
        mark = nil
        let pass = try TickPass(await database.query(TickPass.statement(after: start)))
        mark = pass.mark
        skew.log(server: pass.time, sent: sent, to: logger)
        reads.add()
        metrics?.read(at: pass.time)
        for tick in pass.ticks { metrics?.recorded(tick, at: pass.time) }
        for refusal in pass.refusals {
            logger.error(
                "schedule refused", metadata: ["schedule": "\(refusal.schedule)", "error": "\(refusal.reason)"])
        }
        guard let due = pass.dueAt else { return Self.longestDelay }
        return max(.zero, min(Self.longestDelay, due - pass.time))
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

/// What one call of `errand_internal.tick_v1` returns.
private struct TickPass {
    let mark: Timestamp
    /// The database's time at the end of the call.
    let time: Timestamp
    /// When the next schedule is due; nil if none is to come.
    let dueAt: Timestamp?
    let ticks: [RecordedTick]
    let refusals: [(schedule: String, reason: String)]

    static func statement(after mark: Timestamp?) -> Statement {
        Statement(
            """
            select mark, moment, due_at, schedules, ticks, outcomes, refused, reasons
            from errand_internal.tick_v1($1)
            """, [mark]
        ).prepared
    }

    init(_ rows: Rows) throws {
        let (schedules, times, outcomes, refused, reasons): ([String]?, [Timestamp]?, [String]?, [String]?, [String]?)
        (mark, time, dueAt, schedules, times, outcomes, refused, reasons) = try rows[0].decode(
            Timestamp.self, Timestamp.self, Timestamp?.self, [String]?.self, [Timestamp]?.self, [String]?.self,
            [String]?.self, [String]?.self)
        ticks = zip(schedules ?? [], zip(times ?? [], outcomes ?? [])).map { schedule, tick in
            RecordedTick(schedule: schedule, tick: tick.0, outcome: tick.1)
        }
        refusals = zip(refused ?? [], reasons ?? []).map { ($0, $1) }
    }
}
