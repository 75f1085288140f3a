import Synchronization

/// The attempts that a worker process holds, begun or not, by their jobs.
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

    /// Enters attempts. Returns older ones of the same jobs, which have lost their lease: otherwise these could not
    /// have been claimed again.
    func insert(_ new: [Attempt]) -> [Attempt] {
        attempts.withLock { attempts in new.compactMap { attempts.updateValue($0, forKey: $0.job.id) } }
    }

    /// Takes an attempt out at its end. False if it is not entered any more: then its outcome must not be written.
    func remove(_ attempt: Attempt) -> Bool {
        attempts.withLock { attempts in
            guard attempts[attempt.job.id] === attempt else { return false }
            attempts[attempt.job.id] = nil
            return true
        }
    }

    /// Takes out the attempts of these jobs. A newer attempt of the same job, which began since the list was made,
    /// stays.
    func remove(_ jobs: some Sequence<ClaimedJob>) -> [Attempt] {
        attempts.withLock { attempts in
            jobs.compactMap { job in
                // The very attempt: one that was handed back comes again under its old position.
                attempts[job.id]?.job === job ? attempts.removeValue(forKey: job.id) : nil
            }
        }
    }
}
