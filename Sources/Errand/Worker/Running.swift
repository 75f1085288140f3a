import Synchronization

/// The attempts of a worker process, begun or not, by job id.
final class Running: Sendable {
    private let attempts = Mutex<[Int64: Attempt]>([:])

    var count: Int { attempts.withLock(\.count) }

    var all: [Attempt] { attempts.withLock { Array($0.values) } }

    /// The jobs with their positions, for the heartbeat.
    func held() -> [ClaimedJob] { attempts.withLock { $0.values.map(\.job) } }

    /// Attempts whose deadline has passed.
    func late(at now: ContinuousClock.Instant) -> [(attempt: Attempt, deadline: ContinuousClock.Instant)] {
        attempts.withLock { attempts in
            attempts.values.compactMap { attempt in attempt.deadline.map { (attempt: attempt, deadline: $0) } }
        }.filter { $0.deadline <= now }
    }

    /// Adds attempts. Returns older attempts of the same jobs. They have lost their lease, since the jobs were claimed
    /// again.
    func insert(_ new: [Attempt]) -> [Attempt] {
        attempts.withLock { attempts in new.compactMap { attempts.updateValue($0, forKey: $0.job.id) } }
    }

    /// Removes a completed attempt. Returns false if it was removed before: then its outcome must not be written.
    func remove(_ attempt: Attempt) -> Bool {
        attempts.withLock { attempts in
            guard attempts[attempt.job.id] === attempt else { return false }
            attempts[attempt.job.id] = nil
            return true
        }
    }

    /// Removes the attempts of these jobs. A newer attempt of the same job, which began since the list was made, stays.
    func remove(_ jobs: some Sequence<ClaimedJob>) -> [Attempt] {
        attempts.withLock { attempts in
            jobs.compactMap { job in
                // Compares identity: a job that was handed back returns with its old position.
                attempts[job.id]?.job === job ? attempts.removeValue(forKey: job.id) : nil
            }
        }
    }
}
