import Postgres

/// A schedule as a scheduler knows it: as last read from the database, with the ticks recorded since.
///
/// No clock and no database: times are passed in.
struct KnownSchedule: Sendable {
    private(set) var stored: StoredSchedule
    /// The parsed schedule, or why it can't be parsed.
    let schedule: Result<Schedule, ScheduleError>
    /// Ticks up to this time are recorded.
    private(set) var lastTick: Timestamp
    /// The tick after `lastTick`; nil if there is none.
    private(set) var next: Timestamp?
    /// When this scheduler last recorded one of its ticks. A read that began before then is outdated.
    private var recordedAt: ContinuousClock.Instant?
    /// Another session has locked or changed the schedule. The next read shows its state.
    private(set) var isLocked = false
    /// The database refuses its jobs: it is retried after this time, and stops no other schedule.
    private var refusal: (until: ContinuousClock.Instant, reason: String)?

    init(_ stored: StoredSchedule) {
        self.stored = stored
        schedule = Result { () throws(ScheduleError) in try Schedule(stored.times) }
        lastTick = stored.lastTick
        next = try? schedule.get().next(after: stored.lastTick)
    }
}

// MARK: - Due ticks
extension KnownSchedule {
    /// When a tick is due; `.infinity` if the next read decides. Ticks of a paused schedule wait for a read.
    func isDueFrom(at now: Timestamp) -> Timestamp {
        guard !isLocked, refusal == nil, let next, !stored.isPaused || next <= now else { return .infinity }
        return next
    }

    /// The ticks up to and with `now`, oldest first, with the outcome of each.
    func due(at now: Timestamp) -> [CatchUp.Decision] {
        guard let schedule = try? schedule.get() else { return [] }
        return stored.isPaused
            ? CatchUp.passOver(schedule, after: lastTick, at: now)
            : stored.catchUp.decide(schedule, after: lastTick, at: now)
    }

    /// Its next tick after `now`, and the problem that keeps it from ticking.
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

    /// Whether this report differs from what is stored.
    func isReportDue(at now: Timestamp) -> Bool {
        let (next, problem) = report(at: now)
        return !isLocked && isDueFrom(at: now) > now && (next != stored.nextTick || problem != stored.problem)
    }
}

// MARK: - Changes
extension KnownSchedule {
    /// Takes the stored state from a read that began at `begun`.
    ///
    /// - Returns: false if the read is older than a tick that was recorded here.
    mutating func seen(_ seen: StoredSchedule, begun: ContinuousClock.Instant) -> Bool {
        if let refusal, refusal.until <= begun { self.refusal = nil }
        isLocked = false
        if let recordedAt, recordedAt > begun { return false }
        stored = seen
        move(to: seen.lastTick)
        return true
    }

    /// Ticks up to and with `tick` are recorded; nil if none could be.
    ///
    /// - Parameter isAll: false if some due ticks were not recorded.
    mutating func recorded(through tick: Timestamp?, isAll: Bool, at now: ContinuousClock.Instant = .now) {
        isLocked = !isAll
        guard let tick else { return }
        recordedAt = now
        move(to: tick)
    }

    mutating func refused(_ reason: String, until: ContinuousClock.Instant) { refusal = (until, reason) }

    private mutating func move(to tick: Timestamp) {
        guard tick != lastTick else { return }
        lastTick = tick
        next = try? schedule.get().next(after: tick)
    }
}
