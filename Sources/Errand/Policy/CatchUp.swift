import Postgres

/// The policy for missed ticks: those that no scheduler could enqueue in time.
public enum MissedTicks: String, Sendable, Hashable, CaseIterable {
    /// Missed ticks are recorded as skipped.
    case skip
    /// The newest missed tick gets a job; the others are recorded as coalesced. If a later tick is in time, its job
    /// stands for all missed ones.
    case latest
    /// Each missed tick gets a job, the newest ones up to a bound.
    case all
}

/// The recorded outcome of a tick.
enum TickOutcome: String, Sendable, Hashable {
    /// The tick was in time and got a job.
    case enqueued
    /// The tick was missed and got a job late.
    case late
    /// The tick was missed. The job of a later tick stands for it.
    case coalesced
    /// The tick was missed and got no job.
    case skipped
    /// The schedule was paused.
    case paused

    var givesJob: Bool { self == .enqueued || self == .late }
}

/// Decides which due ticks are enqueued, and the outcome of the others.
struct CatchUp: Sendable, Hashable {
    var missed: MissedTicks
    /// A tick that is later than this counts as missed.
    var maxLateness: Duration
    /// With ``MissedTicks/all``: the most ticks to enqueue, including those in time.
    var maxCatchUp: Int

    /// A tick with its decided outcome.
    struct Decision: Sendable, Hashable {
        let tick: Timestamp
        let outcome: TickOutcome
    }

    /// The most ticks without a job that are recorded, the newest ones.
    static let mostPassedOver = 1000

    /// The ticks after `last` up to and with `now`, oldest first.
    ///
    /// Ticks in time are always enqueued, so that a scheduler that is a little late drops none. Costs microseconds per
    /// tick, however long ago `last` is.
    func decide(_ schedule: Schedule, after last: Timestamp, at now: Timestamp) -> [Decision] {
        let onTimeFrom = Timestamp(microseconds: now.microseconds - maxLateness.wholeMicroseconds - 1)
        let onTime = schedule.ticks(after: max(last, onTimeFrom), through: now)
            .map { Decision(tick: $0, outcome: .enqueued) }
        guard last < onTimeFrom else { return onTime }
        let wanted =
            switch missed {
            case .skip: 0
            case .latest: onTime.isEmpty ? 1 : 0
            case .all: max(0, maxCatchUp - onTime.count)
            }
        let late = schedule.lastTicks(wanted + Self.mostPassedOver, after: last, through: onTimeFrom).ticks
        let passedOver: TickOutcome = missed == .latest ? .coalesced : .skipped
        return late.dropLast(wanted).map { Decision(tick: $0, outcome: passedOver) }
            + late.suffix(wanted).map { Decision(tick: $0, outcome: .late) } + onTime
    }

    /// The ticks of a paused schedule after `last` up to and with `now`, oldest first. None gets a job.
    static func passOver(_ schedule: Schedule, after last: Timestamp, at now: Timestamp) -> [Decision] {
        schedule.lastTicks(mostPassedOver, after: last, through: now).ticks
            .map { Decision(tick: $0, outcome: .paused) }
    }
}
