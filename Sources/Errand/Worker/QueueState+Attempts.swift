import Synchronization

/// Attempts between their claim and their completion. ``AttemptRunner`` runs them.
extension QueueState {
    /// Adds attempts of claimed jobs. Returns how many dispatchers to add.
    func add(_ attempts: [Attempt]) -> Int { state.withLock { $0.slots.add(attempts) } }

    /// The next attempt, which begins now; nil ends the dispatcher that asks.
    func next() -> Attempt? {
        state.withLock { $0.slots.next(at: .now, runsAlone: shared.capacity.crashedJobs.runsAlone) }
    }

    /// The job that must run alone, which begins now if nothing else runs on this worker.
    func nextAlone() -> Attempt? {
        state.withLock { state in shared.capacity.attempts == 1 ? state.slots.nextAlone(at: .now) : nil }
    }

    /// An attempt has ended. Returns how many dispatchers to add.
    func complete(_ attempt: Attempt, _ completion: Completion) -> Int {
        state.withLock { state in
            state.completions.add(completion)
            return free(attempt, &state)
        }
    }

    /// An attempt was dropped: there is no outcome to write. Returns how many dispatchers to add.
    func drop(_ attempt: Attempt) -> Int {
        state.withLock { state in
            release(1, &state)
            return free(attempt, &state)
        }
    }

    /// Removes attempts that have waited too long for their slot. They are removed under the lock, so that a slot that
    /// becomes free meanwhile begins none of them.
    func takeStalled(at now: ContinuousClock.Instant) -> ArraySlice<Attempt> {
        let runsAlone = shared.capacity.crashedJobs.runsAlone
        return state.withLock { $0.slots.takeStalled(at: now, isStopping: shared.isStopping, runsAlone: runsAlone) }
    }

    private func free(_ attempt: Attempt, _ state: inout State) -> Int {
        state.slots.remove(attempt)
        // Before its slot is freed: after a job that ran alone, others may begin.
        shared.capacity.crashedJobs.finished(attempt.job)
        return state.slots.addDispatchers()
    }
}
