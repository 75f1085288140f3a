/// Finds that a worker process stands still: a claim loop that has something to do and hasn't turned for longer than
/// the lease, or tasks that aren't run at all.
///
/// The first may be a fault of ours or of a library. The second comes from handlers that block every thread of Swift's
/// shared pool. One that blocks a thread while the loops turn is no reason, nor is a database that is down: a loop that
/// waits for the database is judged only where heartbeats get through meanwhile. Nor is a process that was stopped
/// itself (`SIGSTOP`, a suspended machine), which it sees by its own delay.
struct Watchdog: Sendable {
    /// What a claim loop does.
    enum Phase: Sendable {
        /// There is nothing to do, or it waits after a failure.
        case idle
        /// It has something to do.
        case due
        /// It waits for the database.
        case asking
    }

    /// What one look sees.
    struct Sight: Sendable {
        /// Counts on while tasks are run.
        var pulses: Int
        /// Heartbeats that got through.
        var beats: Int
        /// For each queue how often its loop has turned, and what it does.
        var loops: [String: (turns: Int, phase: Phase)]
    }

    /// The time between two looks.
    let interval: Duration
    private let limit: Duration
    private let databaseLimit: Duration?

    private struct Mark {
        var turns: Int
        var since: Duration
        var beats: Int
    }

    private var lastLook: Duration?
    private var pulse: Mark?
    private var loops: [String: Mark] = [:]

    /// - Parameters:
    ///   - lease: how long a loop may stand still.
    ///   - statementTimeout: how much longer it may wait for the database; nil is without end.
    init(lease: Duration, statementTimeout: Duration?) {
        interval = min(.seconds(1), lease / 4)
        limit = lease
        // The client gives up some seconds after the server should have, and may connect anew before that.
        databaseLimit = statementTimeout.map { lease + $0 + .seconds(15) }
    }

    /// What stands still, and since when; nil where nothing does. `now` is any clock that only moves forward.
    mutating func look(_ sight: Sight, at now: Duration) -> String? {
        defer { lastLook = now }
        // It has not looked itself: what was seen before tells nothing.
        if let lastLook, now - lastLook > interval * 3 { (pulse, loops) = (nil, [:]) }
        if pulse?.turns != sight.pulses { pulse = Mark(turns: sight.pulses, since: now, beats: sight.beats) }
        if let pulse, now - pulse.since > limit {
            return "no task was run for \(now - pulse.since): handlers block all threads"
        }
        for (queue, loop) in sight.loops.sorted(by: { $0.key < $1.key }) {
            if loop.phase == .idle || loops[queue]?.turns != loop.turns {
                loops[queue] = Mark(turns: loop.turns, since: now, beats: sight.beats)
            }
            guard let mark = loops[queue] else { continue }
            let standing = now - mark.since
            switch loop.phase {
            case .due where standing > limit:
                return "the claim loop of \(queue) has not turned for \(standing)"
            case .asking:
                guard let databaseLimit, standing > databaseLimit, sight.beats > mark.beats else { continue }
                return
                    "the claim loop of \(queue) has waited for the database for \(standing), which answers heartbeats"
            default:
                continue
            }
        }
        return nil
    }
}
