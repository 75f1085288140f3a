import Postgres

/// What becomes of ticks that nobody could enqueue in time, because no scheduler ran or the database was away.
public enum MissedTicks: String, Sendable, Hashable, CaseIterable {
    /// Nothing: they are on record as skipped.
    case skip
    /// One job for all of them, the newest tick's. None where a later tick is in time.
    case latest
    /// A job each, up to a bound: the newest ones.
    case all
}

/// Which of the ticks that have come due are enqueued, and which are skipped.
struct CatchUp: Sendable, Hashable {
    var missed: MissedTicks
    /// A tick that is later than this was missed.
    var maxLateness: Duration
    /// Where all missed ticks are wanted: how many at most, together with those in time.
    var maxCatchUp: Int

    /// A settled tick.
    struct Settled: Sendable, Hashable {
        let tick: Timestamp
        let isEnqueued: Bool
    }

    /// Skipped ticks beyond this number leave no record of their own.
    static let mostSkipped = 1000

    /// The ticks after `last` up to and with `now`, oldest first.
    ///
    /// Those that are in time are always enqueued, so that a scheduler that is a little late drops nothing. Costs
    /// microseconds a tick, however long ago `last` is.
    func settle(_ schedule: Schedule, after last: Timestamp, at now: Timestamp) -> [Settled] {
        let onTimeFrom = Timestamp(microseconds: now.microseconds - maxLateness.wholeMicroseconds - 1)
        let onTime = schedule.ticks(after: max(last, onTimeFrom), through: now)
        guard last < onTimeFrom else { return onTime.map { Settled(tick: $0, isEnqueued: true) } }
        let wanted =
            switch missed {
            case .skip: 0
            case .latest: onTime.isEmpty ? 1 : 0
            case .all: max(0, maxCatchUp - onTime.count)
            }
        let late = schedule.lastTicks(wanted + Self.mostSkipped, after: last, through: onTimeFrom).ticks
        let skipped = late.dropLast(wanted)
        return skipped.map { Settled(tick: $0, isEnqueued: false) }
            + (late.suffix(wanted) + onTime).map { Settled(tick: $0, isEnqueued: true) }
    }
}
