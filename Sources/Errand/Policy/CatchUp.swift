import Postgres

/// What becomes of ticks that nobody could enqueue in time, because no scheduler ran or the database was away.
public enum MissedTicks: String, Sendable, Hashable, CaseIterable {
    /// Nothing: they are on record as skipped.
    case skip
    /// One job for all of them, the newest tick's; the others are on record as coalesced. Where a later tick is in time
    /// its job stands for them all.
    case latest
    /// A job each, up to a bound: the newest ones.
    case all
}

/// What became of a tick, as it stands on record.
enum TickOutcome: String, Sendable, Hashable {
    /// In time: a job of its own.
    case enqueued
    /// Missed, and made up for by a job of its own.
    case late
    /// Missed; a later tick's job stands for it.
    case coalesced
    /// Missed, and not made up for.
    case skipped
    /// Its schedule was paused.
    case paused

    var givesJob: Bool { self == .enqueued || self == .late }
}

/// Which of the ticks that have come due are enqueued, and what becomes of the others.
struct CatchUp: Sendable, Hashable {
    var missed: MissedTicks
    /// A tick that is later than this was missed.
    var maxLateness: Duration
    /// Where all missed ticks are wanted: how many at most, together with those in time.
    var maxCatchUp: Int

    /// A settled tick.
    struct Settled: Sendable, Hashable {
        let tick: Timestamp
        let outcome: TickOutcome
    }

    /// Ticks that give no job beyond this number leave no record of their own: the newest do.
    static let mostPassedOver = 1000

    /// The ticks after `last` up to and with `now`, oldest first.
    ///
    /// Those that are in time are always enqueued, so that a scheduler that is a little late drops nothing. Costs
    /// microseconds a tick, however long ago `last` is.
    func settle(_ schedule: Schedule, after last: Timestamp, at now: Timestamp) -> [Settled] {
        let onTimeFrom = Timestamp(microseconds: now.microseconds - maxLateness.wholeMicroseconds - 1)
        let onTime = schedule.ticks(after: max(last, onTimeFrom), through: now)
            .map { Settled(tick: $0, outcome: .enqueued) }
        guard last < onTimeFrom else { return onTime }
        let wanted =
            switch missed {
            case .skip: 0
            case .latest: onTime.isEmpty ? 1 : 0
            case .all: max(0, maxCatchUp - onTime.count)
            }
        let late = schedule.lastTicks(wanted + Self.mostPassedOver, after: last, through: onTimeFrom).ticks
        let passedOver: TickOutcome = missed == .latest ? .coalesced : .skipped
        return late.dropLast(wanted).map { Settled(tick: $0, outcome: passedOver) }
            + late.suffix(wanted).map { Settled(tick: $0, outcome: .late) } + onTime
    }

    /// The ticks of a paused schedule after `last` up to and with `now`, oldest first: none gives a job.
    static func passOver(_ schedule: Schedule, after last: Timestamp, at now: Timestamp) -> [Settled] {
        schedule.lastTicks(mostPassedOver, after: last, through: now).ticks
            .map { Settled(tick: $0, outcome: .paused) }
    }
}
