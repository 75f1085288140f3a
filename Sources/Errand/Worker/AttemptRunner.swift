import Synchronization
import Waiting

/// Runs the attempts of a worker: begins them, stops them, and hands each completion to its queue.
///
/// Each attempt has a task of its own, which begins immediately on the thread of its dispatcher. An attempt that never
/// suspends ends before the next one begins, and no thread is woken for it. One that computes for long blocks one
/// dispatcher.
final class AttemptRunner: Sendable {
    private let shared: WorkerState
    private let queues: [String: QueueState]

    init(shared: WorkerState, queues: [QueueState]) {
        self.shared = shared
        self.queues = Dictionary(uniqueKeysWithValues: queues.map { ($0.name, $0) })
    }

    /// Begins jobs that were claimed from `queue`, now or when there are slots.
    func begin(_ jobs: [ClaimedJob], of queue: QueueState) {
        guard !jobs.isEmpty else { return }
        let now = ContinuousClock.now
        let attempts = jobs.map { job in
            Attempt(
                job, entry: shared.environment.handlers[job.kind],
                context: JobContext(job: job, environment: shared.environment, control: AttemptControl()),
                claimedAt: now)
        }
        for older in shared.running.insert(attempts) { drop(older, because: .leaseLost) }
        shared.keeper.notifyBegun()
        start(queue.add(attempts), of: queue)
    }

    /// Begins the job that must run alone, if one waits and the worker holds no other job.
    func beginAlone() {
        for queue in queues.values {
            if let alone = queue.nextAlone() { run(alone, of: queue) }
        }
    }

    /// Updates the queue's share of slots. Returns whether it has more of them now.
    func updateShare(of queue: QueueState) -> Bool {
        let (dispatchers, hasMore) = queue.updateShare()
        start(dispatchers, of: queue)
        return hasMore
    }

    private func start(_ dispatchers: Int, of queue: QueueState) {
        for _ in 0..<dispatchers {
            Task {
                while let attempt = queue.next() { run(attempt, of: queue) }
            }
        }
    }

    /// Not a child of the caller's task: a handler that ignores its cancellation must not delay the worker's stop.
    /// `Running` owns the task.
    private func run(_ attempt: Attempt, of queue: QueueState) {
        attempt.control.attach(
            Task.immediate {
                let completion = await attempt.run()
                if shared.running.remove(attempt) {
                    complete(attempt, completion, of: queue)
                } else if let commit = completion.commit {
                    // It was abandoned while its transaction committed.
                    shared.counts.end(commit.ticket)
                }
            })
    }

    private func complete(_ attempt: Attempt, _ completion: Completion, of queue: QueueState) {
        start(queue.complete(attempt, completion), of: queue)
        queue.work.raise()
    }
}

// MARK: - Stopping
extension AttemptRunner {
    /// Hands back prefetched jobs that have waited too long for a slot. Hands back all waiting jobs if the worker stops
    /// or a job must run alone.
    func handBackStalled(at now: ContinuousClock.Instant) {
        for queue in queues.values {
            for attempt in queue.takeStalled(at: now) where shared.running.remove(attempt) {
                complete(attempt, .released(attempt.job), of: queue)
            }
        }
    }

    /// Stops the attempts of these jobs and drops them: others have written their outcomes, or will. Returns how many.
    func drop(_ jobs: some Sequence<ClaimedJob>, because interruption: Interruption) -> Int {
        let dropped = shared.running.remove(jobs)
        for attempt in dropped { drop(attempt, because: interruption) }
        return dropped.count
    }

    private func drop(_ attempt: Attempt, because interruption: Interruption) {
        attempt.control.interrupt(interruption)
        shared.generations.withLock { $0.finished(attempt.job) }
        // It may belong to another queue than the one that has claimed its job again.
        guard let queue = queues[attempt.job.queue] else { return }
        start(queue.drop(attempt), of: queue)
        queue.work.raise()
    }

    /// Stops attempts whose deadline has passed, and completes those that still run `timeout` later.
    func enforceDeadlines(at now: ContinuousClock.Instant, timeout: Duration = .seconds(5)) {
        let late = shared.running.late(at: now)
        for (attempt, _) in late where attempt.control.interruption == nil { attempt.control.interrupt(.deadline) }
        abandon(late.filter { $0.deadline + timeout <= now }.map(\.attempt))
    }

    /// Asks all attempts to stop.
    func interruptAll(because interruption: Interruption) {
        for attempt in shared.running.all { attempt.control.interrupt(interruption) }
    }

    /// Completes every remaining attempt.
    func abandonAll() { abandon(shared.running.all) }

    private func abandon(_ stubborn: [Attempt]) {
        for attempt in stubborn where shared.running.remove(attempt) {
            guard let queue = queues[attempt.job.queue] else { continue }
            complete(attempt, attempt.abandoned(because: attempt.control.interruption ?? .shutdown), of: queue)
        }
    }
}
