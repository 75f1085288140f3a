import Postgres

/// A schedule as a scheduler knows it: as it lay in the database at the last look, and what was settled since.
///
/// No clock and no database: times are passed in.
struct KnownSchedule: Sendable {
    private(set) var stored: StoredSchedule
    /// What its ticks are computed from, or why there are none.
    let schedule: Result<Schedule, ScheduleError>
    /// Ticks up to this moment are settled.
    private(set) var lastTick: Timestamp
    /// The tick after `lastTick`; nil where there is none.
    private(set) var next: Timestamp?
    /// When this scheduler last settled a tick of it: what a look that had begun before says of its ticks is old.
    private var settledAt: ContinuousClock.Instant?
    /// Somebody else holds or has changed it: the next look says more.
    private(set) var isHeld = false
    /// Its jobs are refused by the database: it is tried again after this, and stops none of the others.
    private var refusal: (until: ContinuousClock.Instant, reason: String)?

    init(_ stored: StoredSchedule) {
        self.stored = stored
        schedule = Result { () throws(ScheduleError) in try Schedule(stored.times) }
        lastTick = stored.lastTick
        next = try? schedule.get().next(after: stored.lastTick)
    }
}

// MARK: - What is to be done
extension KnownSchedule {
    /// When there is something to settle; `.infinity` where the next look decides. Ticks of a pause wait for a look.
    func isDueFrom(at now: Timestamp) -> Timestamp {
        guard !isHeld, refusal == nil, let next, !stored.isPaused || next <= now else { return .infinity }
        return next
    }

    /// The ticks up to and with `now`, oldest first, and what becomes of each.
    func due(at now: Timestamp) -> [CatchUp.Settled] {
        guard let schedule = try? schedule.get() else { return [] }
        return stored.isPaused
            ? CatchUp.passOver(schedule, after: lastTick, at: now)
            : stored.catchUp.settle(schedule, after: lastTick, at: now)
    }

    /// Its next tick once those up to and with `now` are settled, and what keeps it from ticking.
    func report(at now: Timestamp) -> (next: Timestamp?, problem: String?) {
        switch schedule {
        case .failure(let error): return (nil, error.description)
        case .success(let schedule):
            if let refusal { return (nil, refusal.reason) }
            guard let next else { return (nil, "it never ticks again: there is no such date") }
            if stored.isPaused { return (nil, nil) }
            return (next > now ? next : schedule.next(after: now), nil)
        }
    }

    /// Whether the database doesn't say so yet.
    func isReportDue(at now: Timestamp) -> Bool {
        let (next, problem) = report(at: now)
        return !isHeld && isDueFrom(at: now) > now && (next != stored.nextTick || problem != stored.problem)
    }
}

// MARK: - What has happened
extension KnownSchedule {
    /// Takes over how it lies in the database by a look that had begun at `begun`.
    ///
    /// - Returns: false where what the look says of its ticks is older than what is known.
    mutating func seen(_ seen: StoredSchedule, begun: ContinuousClock.Instant) -> Bool {
        if let refusal, refusal.until <= begun { self.refusal = nil }
        isHeld = false
        if let settledAt, settledAt > begun { return false }
        stored = seen
        move(to: seen.lastTick)
        return true
    }

    /// Ticks up to and with `tick` are settled; nil where none could be.
    ///
    /// - Parameter isAll: false where some of those that were due are not.
    mutating func settled(through tick: Timestamp?, isAll: Bool, at now: ContinuousClock.Instant = .now) {
        isHeld = !isAll
        guard let tick else { return }
        settledAt = now
        move(to: tick)
    }

    mutating func refused(_ reason: String, until: ContinuousClock.Instant) { refusal = (until, reason) }

    private mutating func move(to tick: Timestamp) {
        guard tick != lastTick else { return }
        lastTick = tick
        next = try? schedule.get().next(after: tick)
    }
}
