import Synchronization

/// The attempts that a worker process is running now, and how each is stopped.
final class Running: Sendable {
    private let attempts = Mutex<[Int64: Attempt]>([:])

    var count: Int { attempts.withLock(\.count) }

    /// Enters attempts. An older one of the same job has lost its lease, or it could not have been claimed again.
    func insert(_ new: [Attempt]) {
        let older = attempts.withLock { attempts in new.compactMap { attempts.updateValue($0, forKey: $0.job.id) } }
        for attempt in older {
            attempt.control.interrupt(.leaseLost)
            attempt.loop.dropped(attempt)
        }
    }

    /// Takes an attempt out at its end. False where it is not entered any more: then its end must not be written.
    func remove(_ attempt: Attempt) -> Bool {
        attempts.withLock { attempts in
            guard attempts[attempt.job.id] === attempt else { return false }
            attempts[attempt.job.id] = nil
            return true
        }
    }

    /// The jobs with their lines, for the heartbeat.
    func held() -> [ClaimedJob] { attempts.withLock { $0.values.map(\.job) } }

    /// Stops these attempts and forgets them: others have written their end, or will. A newer attempt of the same job, which
    /// began since the list was made, goes on.
    func drop(_ jobs: some Sequence<ClaimedJob>, because interruption: Interruption) -> Int {
        let dropped = attempts.withLock { attempts in
            jobs.compactMap { job in
                // The very attempt: one that was handed back comes again under its old position.
                attempts[job.id]?.job === job ? attempts.removeValue(forKey: job.id) : nil
            }
        }
        for attempt in dropped {
            attempt.control.interrupt(interruption)
            attempt.loop.dropped(attempt)
        }
        return dropped.count
    }

    /// Asks all attempts to stop.
    func interruptAll(because interruption: Interruption) {
        for attempt in attempts.withLock({ Array($0.values) }) { attempt.control.interrupt(interruption) }
    }

    /// Stops attempts whose deadline has passed; takes out and ends those that go on `patience` after that.
    func enforceDeadlines(at now: ContinuousClock.Instant, patience: Duration = .seconds(5)) {
        let late = attempts.withLock { attempts in
            attempts.values.compactMap { attempt in attempt.deadline.map { (attempt, deadline: $0) } }
        }.filter { $0.deadline <= now }
        for (attempt, _) in late where attempt.control.interruption == nil { attempt.control.interrupt(.deadline) }
        abandon(late.filter { $0.deadline + patience <= now }.map(\.0))
    }

    /// Takes out and ends every attempt that is still there.
    func abandonAll() { abandon(attempts.withLock { Array($0.values) }) }

    private func abandon(_ stubborn: [Attempt]) {
        for attempt in stubborn where remove(attempt) {
            let reason = attempt.control.interruption ?? .shutdown
            let took: Duration = attempt.control.begunAt.map { .now - $0 } ?? .zero
            attempt.loop.ended(
                attempt,
                Completion(job: attempt.job, result: attempt.abandoned(because: reason), took: took))
        }
    }
}
