import Synchronization

/// The attempts that a worker process is running now, and how each is stopped.
final class Running: Sendable {
    struct Entry: Sendable {
        let attempt: Attempt
        let control: AttemptControl
        let startedAt: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        /// Takes the end of an attempt that had to be abandoned, and the slot of one that was dropped.
        let loop: ClaimLoop
    }

    private let entries = Mutex<[Int64: Entry]>([:])

    var count: Int { entries.withLock(\.count) }

    /// Enters an attempt. An older one of the same job has lost its lease, or it could not have been claimed again.
    func insert(_ entry: Entry) {
        let older = entries.withLock { $0.updateValue(entry, forKey: entry.attempt.job.id) }
        older?.control.interrupt(.leaseLost)
        older?.loop.dropped()
    }

    /// Takes an attempt out at its end. False where it is not entered any more: then its end must not be written.
    func remove(_ job: ClaimedJob) -> Bool {
        entries.withLock { entries in
            guard entries[job.id]?.attempt.job.line == job.line else { return false }
            entries[job.id] = nil
            return true
        }
    }

    /// The jobs with their lines, for the heartbeat.
    func held() -> [ClaimedJob] { entries.withLock { $0.values.map(\.attempt.job) } }

    /// Stops these jobs' attempts and forgets them: others have written their end, or will.
    func drop(_ ids: some Sequence<Int64>, because interruption: Interruption) -> Int {
        let dropped = entries.withLock { entries in ids.compactMap { entries.removeValue(forKey: $0) } }
        for entry in dropped {
            entry.control.interrupt(interruption)
            entry.loop.dropped()
        }
        return dropped.count
    }

    /// Asks all attempts to stop.
    func interruptAll(because interruption: Interruption) {
        for entry in entries.withLock({ Array($0.values) }) { entry.control.interrupt(interruption) }
    }

    /// Stops attempts whose deadline has passed; takes out and ends those that go on `patience` after that.
    func enforceDeadlines(at now: ContinuousClock.Instant, patience: Duration = .seconds(5)) {
        let late = entries.withLock { $0.values.filter { $0.deadline <= now } }
        for entry in late where entry.control.interruption == nil { entry.control.interrupt(.deadline) }
        abandon(late.filter { $0.deadline + patience <= now })
    }

    /// Takes out and ends every attempt that is still there.
    func abandonAll() { abandon(entries.withLock { Array($0.values) }) }

    private func abandon(_ stubborn: [Entry]) {
        for entry in stubborn where remove(entry.attempt.job) {
            let reason = entry.control.interruption ?? .shutdown
            entry.loop.ended(
                Settlement(
                    job: entry.attempt.job, ending: entry.attempt.abandoned(because: reason),
                    took: .now - entry.startedAt))
        }
    }
}
