import Synchronization
import Waiting

/// Runs the attempts of a worker: begins them, stops them, and hands each completion to the jobs of its queue.
///
/// Each attempt has a task of its own, which begins immediately on the thread of its dispatcher. An attempt that never
/// suspends ends before the next one begins, and no thread is woken for it. One that computes for long blocks one
/// dispatcher.
final class Attempts: Sendable {
    let environment: AttemptEnvironment
    let running = Running()
    private let queues: [String: HeldJobs]
    private let watch: AttemptWatch

    init(of queues: [HeldJobs], in environment: AttemptEnvironment, watchedBy watch: AttemptWatch) {
        self.environment = environment
        self.watch = watch
        self.queues = Dictionary(uniqueKeysWithValues: queues.map { ($0.queue, $0) })
    }

    /// Takes jobs that were claimed from a queue. Their attempts begin now, or when there are slots. Returns the jobs
    /// of older attempts that it drops, since they were claimed again.
    func take(_ jobs: [ClaimedJob], of queue: HeldJobs) -> [ClaimedJob] {
        guard !jobs.isEmpty else { return [] }
        let now = ContinuousClock.now
        let functions = environment.functions?.entries ?? [:]
        let attempts = jobs.map { job in
            Attempt(
                job,
                entry: functions.isEmpty
                    ? environment.handlers[job.kind] : functions[job.kind] ?? environment.handlers[job.kind],
                context: JobContext(job: job, environment: environment, control: AttemptControl()), claimedAt: now)
        }
        let (dispatchers, older) = queue.add(attempts, to: running)
        for attempt in older { drop(attempt, because: .leaseLost) }
        watch.notifyBegun()
        start(dispatchers, of: queue)
        return older.map(\.job)
    }

    /// Begins the job that must run alone, if one waits and the worker holds no other job.
    func beginAlone() {
        for queue in queues.values {
            if let alone = queue.nextAlone() { run(alone, of: queue) }
        }
    }

    /// Begins waiting attempts in so many dispatchers.
    func start(_ dispatchers: Int, of queue: HeldJobs) {
        for _ in 0..<dispatchers {
            Task {
                while let attempt = queue.next() { run(attempt, of: queue) }
            }
        }
    }

    /// Not a child of the caller's task: a handler that ignores its cancellation must not delay the worker's stop.
    /// ``AttemptControl`` has the task.
    private func run(_ attempt: Attempt, of queue: HeldJobs) {
        attempt.control.attach(
            Task.immediate {
                let completion = await attempt.run()
                if !complete(attempt, completion, of: queue), let commit = completion.commit {
                    // It was abandoned while its transaction committed.
                    environment.commits.end(commit.ticket)
                }
            })
    }

    /// Returns false if the attempt was removed before: then its completion is not written.
    @discardableResult
    private func complete(_ attempt: Attempt, _ completion: Completion, of queue: HeldJobs) -> Bool {
        guard let dispatchers = queue.complete(attempt, completion, from: running) else { return false }
        start(dispatchers, of: queue)
        queue.work.raise()
        return true
    }
}

// MARK: - Stopping
extension Attempts {
    /// Hands back prefetched jobs that have waited too long for a slot. Hands back all waiting jobs if the worker stops
    /// or a job must run alone.
    func handBackStalled(at now: ContinuousClock.Instant, isStopping: Bool) {
        for queue in queues.values {
            for attempt in queue.takeStalled(at: now, isStopping: isStopping) {
                complete(attempt, .released(attempt.job), of: queue)
            }
        }
    }

    /// Stops the attempts of these jobs and drops them: others have written their outcomes, or will. Returns the
    /// dropped jobs.
    func drop(_ jobs: some Sequence<ClaimedJob>, because interruption: Interruption) -> [ClaimedJob] {
        let dropped = running.remove(jobs)
        for attempt in dropped { drop(attempt, because: interruption) }
        return dropped.map(\.job)
    }

    private func drop(_ attempt: Attempt, because interruption: Interruption) {
        attempt.control.interrupt(interruption)
        // It may belong to another queue than the one that has claimed its job again.
        guard let queue = queues[attempt.job.queue] else { return }
        start(queue.drop(attempt), of: queue)
        queue.work.raise()
    }

    /// Stops attempts whose deadline has passed, and completes those that still run `timeout` later.
    func enforceDeadlines(at now: ContinuousClock.Instant, timeout: Duration = .seconds(5)) {
        let late = running.late(at: now)
        for (attempt, _) in late where attempt.control.interruption == nil { attempt.control.interrupt(.deadline) }
        abandon(late.filter { $0.deadline + timeout <= now }.map(\.attempt))
    }

    /// Asks all attempts to stop.
    func interruptAll(because interruption: Interruption) {
        for attempt in running.all { attempt.control.interrupt(interruption) }
    }

    /// Completes every remaining attempt.
    func abandonAll() { abandon(running.all) }

    private func abandon(_ stubborn: [Attempt]) {
        for attempt in stubborn {
            guard let queue = queues[attempt.job.queue] else { continue }
            complete(attempt, attempt.abandoned(because: attempt.control.interruption ?? .shutdown), of: queue)
        }
    }
}
