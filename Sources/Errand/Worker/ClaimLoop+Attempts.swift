import Foundation
import Synchronization

/// Attempts, from their claim to their end: begun in their order, as many at once as the queue has slots.
///
/// They are begun by as many tasks as there are cores. Each attempt has a task of its own, which begins at once on the
/// starter's thread: one that never waits has ended before the next one begins, and no thread is woken for it. One that
/// computes for long holds up a core's starter and no more.
extension ClaimLoop {
    private static let cores = max(1, ProcessInfo.processInfo.activeProcessorCount)
    /// How long a job that was claimed ahead may wait for its slot.
    private static let patience: Duration = .milliseconds(250)

    func begin(_ jobs: [ClaimedJob]) {
        guard !jobs.isEmpty else { return }
        let now = ContinuousClock.now
        let attempts = jobs.map { job in
            Attempt(
                job, entry: shared.environment.handlers[job.kind],
                context: JobContext(job: job, environment: shared.environment, control: AttemptControl()), claimedAt: now, loop: self)
        }
        shared.running.insert(attempts)
        shared.keeper.stir()
        let starters = state.withLock { state in
            state.trial = attempts.first(where: \.job.isOnTrial) ?? state.trial
            state.waiting.append(contentsOf: attempts.filter { !$0.job.isOnTrial })
            return addStarters(&state)
        }
        start(starters)
    }

    /// Begins the job on trial here, if there is one and nothing else is held.
    func beginTrial() {
        let trial = state.withLock { state -> Attempt? in
            guard let trial = state.trial, trial.control.begunAt == nil, shared.running.count == 1 else { return nil }
            state.running += 1
            trial.control.begin(at: .now)
            return trial
        }
        if let trial { run(trial) }
    }

    /// An attempt has come to its end.
    func ended(_ attempt: Attempt, _ completion: Completion) {
        let starters = state.withLock { state in
            state.ended.append(completion)
            return free(attempt, &state)
        }
        start(starters)
        signal.raise()
    }

    /// An attempt was dropped: there is no end to write.
    func dropped(_ attempt: Attempt) {
        shared.epochs.withLock { $0.ended(attempt.job) }
        let starters = state.withLock { state in
            hold(-1, &state)
            return free(attempt, &state)
        }
        start(starters)
        signal.raise()
    }

    /// Hands jobs back that were claimed ahead and have waited too long since: what runs takes longer than was to be
    /// expected, and another worker may be idle. All of them where the worker stops, or a job on trial is to run alone.
    func handBackStalled(at now: ContinuousClock.Instant) {
        let isOnTrial = shared.suspects.isOnTrial
        let stalled = state.withLock { state in
            var stalled: ArraySlice<Attempt> = []
            if shared.isStopping, let trial = state.trial, trial.control.begunAt == nil {
                state.trial = nil
                stalled.append(trial)
            }
            guard let oldest = state.waiting.first else { return stalled }
            if shared.isStopping || isOnTrial || oldest.claimedAt + Self.patience <= now {
                if !isOnTrial { state.ahead.stalled() }
                // Taken out under the lock: a slot that falls free meanwhile must begin none of them.
                stalled += state.waiting
                state.waiting = []
            }
            return stalled
        }
        for attempt in stalled where shared.running.remove(attempt) {
            ended(attempt, Completion(job: attempt.job, result: .released, took: .zero))
        }
    }
}

// MARK: - Slots
extension ClaimLoop {
    /// Takes an attempt out, whether it runs or waits; answers how many starters that calls for.
    private func free(_ attempt: Attempt, _ state: inout State) -> Int {
        if attempt.control.begunAt != nil {
            state.running -= 1
        } else {
            state.waiting.removeAll { $0 === attempt }
        }
        if state.trial === attempt { state.trial = nil }
        shared.suspects.ended(attempt.job)
        return addStarters(&state)
    }

    private func addStarters(_ state: inout State) -> Int {
        let starters = max(0, min(Self.cores - state.starters, slots - state.running, state.waiting.count))
        state.starters += starters
        return starters
    }

    private func start(_ starters: Int) {
        for _ in 0..<starters {
            Task {
                while let attempt = next() { run(attempt) }
            }
        }
    }

    /// Not a child of the caller's task: a handler that ignores its cancellation may outlive the worker's stop, and must not
    /// hold it up. `Running` owns it.
    private func run(_ attempt: Attempt) {
        attempt.control.attach(
            Task.immediate {
                let completion = await attempt.run()
                if shared.running.remove(attempt) { ended(attempt, completion) }
            })
    }

    private func next() -> Attempt? {
        state.withLock { state in
            guard state.running < slots, !shared.suspects.isOnTrial, let attempt = state.waiting.popFirst() else {
                state.starters -= 1
                return nil
            }
            // An empty slice keeps all that was taken out of it.
            if state.waiting.isEmpty { state.waiting = [] }
            state.running += 1
            attempt.control.begin(at: .now)
            return attempt
        }
    }
}
