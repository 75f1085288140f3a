import Logging
import Postgres

/// What a scheduler does over and over: looks at the schedules, settles the ticks that are due, says when to go on.
///
/// A look reads all schedules; between two looks it knows by itself what is due. Time is the database's: asked at each look,
/// and counted on from there.
struct SchedulerLoop {
    let database: Database
    let logger: Logger
    let metrics = SchedulerMetrics()
    /// Not taken over yet.
    private var definitions: [ScheduleDefinition]
    /// As of the last look, in its order.
    var known: [KnownSchedule] = []
    /// From when on there is something to settle of each: beside them, since it is gone through before each wait.
    var dueFrom: [Timestamp] = []
    private var clock: Clock?
    private var nextLook = ContinuousClock.now

    /// What the database's clock showed, and when its answer was here: counted from there, it is never ahead.
    private struct Clock {
        let time: Timestamp
        let answered: ContinuousClock.Instant
    }

    /// The longest pause between two looks, and so the time within which a change is noticed.
    static let longestPause: Duration = .milliseconds(900)

    init(database: Database, definitions: [ScheduleDefinition], logger: Logger) {
        self.database = database
        self.definitions = definitions
        self.logger = logger
    }

    /// Time by the database, never ahead of it; nil where it has to be asked first.
    private var now: Timestamp? {
        clock.map { clock in
            let since = ContinuousClock.now - clock.answered
            // A clock that is being corrected runs slower than this one by up to 1 in 2,000.
            return clock.time + (since - since / 2000)
        }
    }

    /// How long until the next look; zero where it is due.
    var untilLook: Duration { clock == nil ? .zero : max(.zero, nextLook - .now) }

    /// After an error, which may be the loss of the server: what time it is must be asked first.
    mutating func forgetTime() { clock = nil }

    /// Looks at the schedules, and settles what is due, also meanwhile; answers how long there is nothing to do.
    ///
    /// Costs a query of all schedules, and for each that isn't due a comparison.
    mutating func turn() async throws -> Duration {
        try await takeOverDefinitions()
        let (begun, arrived, database) = (ContinuousClock.now, Signal(), database)
        async let answer = Self.look(at: database, raising: arrived)
        if clock != nil {
            var pause = try await settle()
            while await !arrived.wait(atMost: pause) { pause = try await settle() }
        }
        try await take(try await answer, begun: begun)
        nextLook = begun + Self.longestPause
        let pause = try await settle()
        return pause
    }

    /// Settles what is due, each tick once; answers how long there is nothing to do, at most ``longestPause``.
    ///
    /// Costs nothing in the database where nothing is due.
    mutating func settle() async throws -> Duration {
        guard let now else { return .zero }
        let due = dueFrom.indices.filter { dueFrom[$0] <= now }.sorted { dueFrom[$0] < dueFrom[$1] }
        try await settle(due, at: now)
        guard let soonest = dueFrom.min(), soonest < .infinity, let time = self.now else { return Self.longestPause }
        return max(.zero, min(Self.longestPause, soonest - time))
    }
}

// MARK: - Looking
extension SchedulerLoop {
    private struct Answer: Sendable {
        let schedules: [StoredSchedule]
        let clock: Clock
    }

    private static func look(at database: Database, raising arrived: Signal) async throws -> Answer {
        defer { arrived.raise() }
        let schedules = try StoredSchedule.read(try await database.query(StoredSchedule.all))
        // Asked by itself: reading many schedules takes so long that a time from there would be late.
        let time = try await database.query("select clock_timestamp()").scalar(Timestamp.self)
        return Answer(schedules: schedules, clock: Clock(time: time, answered: .now))
    }

    private mutating func take(_ answer: Answer, begun: ContinuousClock.Instant) async throws {
        clock = answer.clock
        let now = answer.clock.time
        let before = Dictionary(uniqueKeysWithValues: known.map { ($0.stored.name, $0) })
        var reports: [Int] = []
        known = answer.schedules.enumerated().map { place, stored in
            guard var schedule = before[stored.name], schedule.stored.version == stored.version else {
                let schedule = KnownSchedule(stored)
                if case .failure(let error) = schedule.schedule {
                    logger.error(
                        "schedule can't be read", metadata: ["schedule": "\(stored.name)", "error": "\(error)"])
                }
                if schedule.isReportDue(at: now) { reports.append(place) }
                return schedule
            }
            if schedule.seen(stored, begun: begun), schedule.isReportDue(at: now) { reports.append(place) }
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
                // A definition that can't be must not keep the others from running.
                guard error.code == .rejected, !error.isTransient else { throw error }
                logger.error("schedule refused", metadata: ["schedule": "\(definition.name)", "error": "\(error)"])
            }
            definitions.removeFirst()
        }
    }
}
