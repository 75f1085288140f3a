/// What concerns the attempts of all queues of a worker, above all to stop them: ``HeldJobs`` runs them.
struct Attempts {
    let running: Running
    private let queues: [String: HeldJobs]
    /// How long an attempt may take to stop after its deadline.
    private static let timeout: Duration = .seconds(5)

    init(_ running: Running, of queues: [HeldJobs]) {
        self.running = running
        self.queues = Dictionary(uniqueKeysWithValues: queues.map { ($0.queue, $0) })
    }

    /// Begins the job that must run alone, if one waits and the worker holds no other job.
    func beginAlone() {
        for queue in queues.values { queue.beginAlone() }
    }

    /// Hands back prefetched jobs that have waited too long for a slot. Hands back all waiting jobs if the worker stops
    /// or a job must run alone.
    func handBackStalled(at now: ContinuousClock.Instant, isStopping: Bool) {
        for queue in queues.values { queue.handBackStalled(at: now, isStopping: isStopping) }
    }

    /// Stops the attempts of these jobs and drops them: others have written their outcomes, or will. Returns the
    /// dropped jobs.
    func drop(_ jobs: some Sequence<ClaimedJob>, because interruption: Interruption) -> [ClaimedJob] {
        drop(running.remove(jobs), because: interruption)
    }

    /// Stops attempts that were removed from the running ones. Returns their jobs.
    func drop(_ attempts: [Attempt], because interruption: Interruption) -> [ClaimedJob] {
        for attempt in attempts {
            attempt.control.interrupt(interruption)
            // It may belong to another queue than the one that has claimed its job again.
            queues[attempt.job.queue]?.drop(attempt)
        }
        return attempts.map(\.job)
    }

    /// Stops attempts whose deadline has passed, and completes those that still run ``timeout`` later.
    func enforceDeadlines(at now: ContinuousClock.Instant) {
        let late = running.late(at: now)
        for (attempt, _) in late where attempt.control.interruption == nil { attempt.control.interrupt(.deadline) }
        abandon(late.filter { $0.deadline + Self.timeout <= now }.map(\.attempt))
    }

    /// Asks all attempts to stop.
    func interruptAll(because interruption: Interruption) {
        for attempt in running.all { attempt.control.interrupt(interruption) }
    }

    /// Completes every remaining attempt.
    func abandonAll() { abandon(running.all) }

    private func abandon(_ stubborn: [Attempt]) {
        for attempt in stubborn {
            queues[attempt.job.queue]?.complete(
                attempt, attempt.abandoned(because: attempt.control.interruption ?? .shutdown))
        }
    }
}
