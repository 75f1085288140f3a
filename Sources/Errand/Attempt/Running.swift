import Synchronization

/// The attempts of a worker, begun or not.
final class Running: Sendable {
    private struct State {
        /// By job id.
        var attempts: [Int64: Attempt] = [:]
        /// Attempts that have completed their jobs in the handler's transaction, and whose jobs were claimed again
        /// before the attempts ended.
        var completed: [ObjectIdentifier: Attempt] = [:]

        var all: [Attempt] { Array(attempts.values) + completed.values }
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.attempts.count + $0.completed.count } }

    var all: [Attempt] { state.withLock(\.all) }

    /// The jobs that need the lease, for the heartbeat: not those that their handlers' transactions complete.
    func leasedJobs() -> [ClaimedJob] {
        state.withLock { $0.attempts.values.filter { !$0.control.isCommitting }.map(\.job) }
    }

    /// The jobs of all attempts.
    var jobs: [ClaimedJob] { state.withLock { $0.all.map(\.job) } }

    /// Attempts whose deadline has passed.
    func late(at now: ContinuousClock.Instant) -> [(attempt: Attempt, deadline: ContinuousClock.Instant)] {
        all.compactMap { attempt in attempt.deadline.map { (attempt: attempt, deadline: $0) } }
            .filter { $0.deadline <= now }
    }

    /// Adds attempts. Returns older attempts of the same jobs that have lost their lease, since the jobs were claimed
    /// again.
    func insert(_ new: [Attempt]) -> [Attempt] {
        state.withLock { state in
            let older = new.compactMap { state.attempts.updateValue($0, forKey: $0.job.id) }
            return older.filter { attempt in
                // Asked once: the handler may begin or fail to commit meanwhile.
                guard attempt.control.isCommitting else { return true }
                state.completed[ObjectIdentifier(attempt)] = attempt
                return false
            }
        }
    }

    /// Removes a completed attempt. Returns false if it was removed before: then its outcome must not be written.
    func remove(_ attempt: Attempt) -> Bool {
        state.withLock { state in
            guard state.attempts[attempt.job.id] === attempt else {
                return state.completed.removeValue(forKey: ObjectIdentifier(attempt)) != nil
            }
            state.attempts[attempt.job.id] = nil
            return true
        }
    }

    /// Removes the attempts of these jobs, but for those that complete their jobs themselves. A newer attempt of the
    /// same job, which began since the list was made, stays.
    func remove(_ jobs: some Sequence<ClaimedJob>) -> [Attempt] {
        state.withLock { state in
            jobs.compactMap { job in
                // Compares identity: a job that was handed back returns with its old position.
                guard let attempt = state.attempts[job.id], attempt.job === job, !attempt.control.isCommitting else {
                    return nil
                }
                return state.attempts.removeValue(forKey: job.id)
            }
        }
    }
}
