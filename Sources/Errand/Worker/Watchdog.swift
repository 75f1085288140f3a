/// Detects a worker process that hangs: a claim loop that has work and made no progress for longer than the
/// lease, or Swift tasks that don't run at all.
///
/// The first may be a fault of Errand or of a library. The second comes from handlers that block every thread of
/// Swift's shared pool. Heartbeats go on meanwhile, so it may last for three leases: a few slow handlers must not end
/// the jobs of all others. A handler that blocks one thread while the loops run is not a hang. Nor is a database that
/// is down: a loop that waits for the database counts only if heartbeats succeed meanwhile. Nor is a process that was
/// stopped (`SIGSTOP`, a suspended machine): the watchdog notices its own delay.
struct Watchdog: Sendable {
    /// What a claim loop does.
    enum Phase: Sendable {
        /// The loop has no work, or waits after a failure.
        case idle
        /// The loop has work.
        case due
        /// The loop waits for the database.
        case asking
    }

    /// The state of the loops at one check.
    struct Sample: Sendable {
        /// Increases while tasks run.
        var pulses: Int
        /// Heartbeats that succeeded.
        var heartbeats: Int
        /// For each queue the iterations of its loop, and what the loop does.
        var loops: [String: (iterations: Int, phase: Phase)]
    }

    /// The time between two checks.
    let interval: Duration
    private let limit: Duration
    private let blockedLimit: Duration
    private let databaseLimit: Duration?

    private struct Mark {
        var iterations: Int
        var since: Duration
        var heartbeats: Int
    }

    private var lastCheck: Duration?
    private var pulse: Mark?
    private var loops: [String: Mark] = [:]

    /// - Parameters:
    ///   - lease: how long a loop may make no progress; a third of the time that no task may run.
    ///   - statementTimeout: how much longer a loop may wait for the database; nil is for ever.
    init(lease: Duration, statementTimeout: Duration?) {
        interval = min(.seconds(1), lease / 4)
        limit = lease
        blockedLimit = lease * 3
        // The client gives up some seconds after the server should have, and may reconnect before that.
        databaseLimit = statementTimeout.map { lease + $0 + .seconds(15) }
    }

    /// Describes what hangs, and for how long; nil if nothing does. `now` is any monotonic clock.
    mutating func check(_ sample: Sample, at now: Duration) -> String? {
        defer { lastCheck = now }
        // The watchdog itself was stopped: earlier samples say nothing.
        if let lastCheck, now - lastCheck > interval * 3 { (pulse, loops) = (nil, [:]) }
        if pulse?.iterations != sample.pulses {
            pulse = Mark(iterations: sample.pulses, since: now, heartbeats: sample.heartbeats)
        } else {
            // No loop can make progress while no task runs.
            loops = [:]
        }
        if let pulse, now - pulse.since > blockedLimit {
            return "no task was run for \(now - pulse.since): handlers block all threads"
        }
        for (queue, loop) in sample.loops.sorted(by: { $0.key < $1.key }) {
            if loop.phase == .idle || loops[queue]?.iterations != loop.iterations {
                loops[queue] = Mark(iterations: loop.iterations, since: now, heartbeats: sample.heartbeats)
            }
            guard let mark = loops[queue] else { continue }
            let standing = now - mark.since
            switch loop.phase {
            case .due where standing > limit:
                return "the claim loop of \(queue) has made no progress for \(standing)"
            case .asking:
                guard let databaseLimit, standing > databaseLimit, sample.heartbeats > mark.heartbeats else { continue }
                return
                    "the claim loop of \(queue) has waited for the database for \(standing), which replies to heartbeats"
            default:
                continue
            }
        }
        return nil
    }
}
