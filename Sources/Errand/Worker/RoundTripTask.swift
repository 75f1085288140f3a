import Synchronization

/// What one round trip is to do.
struct RoundTripTask {
    var completions: [Completion] = []
    /// The most jobs to claim, for which there is room; 0 claims none.
    var limit = 0
    /// How many of them begin at once.
    var beginsNow = 0
    /// The delay of claims after a failed one; nil if there is none.
    var claimsIn: Duration?
    /// Whether to omit the release of the limits of completed jobs.
    var omitsRelease = false
    /// Whether the worker stops and this queue has nothing left to write.
    var isLast = false

    var isNothing: Bool { completions.isEmpty && limit == 0 }
}

/// What there is to do for each connection of a queue.
extension QueueState {
    /// The next round trip of the first connection, with all due work.
    func nextTask() -> RoundTripTask {
        let isArmed = shared.isArmed
        return state.withLock { state in
            let completions = takeCompletions(&state)
            let delay = state.claims.delay(at: .now)
            let claims =
                delay == nil && !state.claims.scansAhead && mayClaim(behind: completions, isArmed: isArmed, state)
            let beginsNow = state.slots.free
            let limit = claims ? min(room(state), state.claims.most) : 0
            reserve(limit, &state)
            if limit > 0 { state.claims.asks() }
            return RoundTripTask(
                completions: completions, limit: limit, beginsNow: beginsNow, claimsIn: delay,
                omitsRelease: state.completions.takeOmission(),
                isLast: shared.isStopping && state.slots.held == 0 && state.completions.writes == 0)
        }
    }

    /// A large batch for the second connection; nil if the first one is enough.
    func nextLargeTask() -> RoundTripTask? {
        state.withLock { state in
            let limit = min(room(state), state.claims.most)
            guard state.claims.hasBacklog, !state.claims.scansAhead, !state.completions.isIsolating,
                !state.claims.isRefused,
                limit >= largeClaim
            else { return nil }
            let beginsNow = state.slots.free
            reserve(limit, &state)
            return RoundTripTask(
                completions: takeCompletions(&state), limit: limit, beginsNow: beginsNow,
                omitsRelease: state.completions.takeOmission())
        }
    }

    /// The number of jobs from which a claim is worth a second connection.
    var largeClaim: Int { max(1, shared.configuration.batch / 4) }

    /// Whether a claim may find a job. After completions, it may find one without a wake-up.
    private func mayClaim(behind completions: [Completion], isArmed: Bool, _ state: borrowing State) -> Bool {
        if completions.isEmpty { return state.claims.isAwake }
        if state.claims.isRefused { return false }
        if !isArmed { return true }
        if state.claims.isAwake { return true }
        if state.slots.beginsOnly { return true }
        if state.completions.hasUnreleased { return true }
        return completions.contains(where: \.mayLeaveDueJob)
    }

    /// Under one lock: jobs of the batch are no longer held, but being written.
    private func takeCompletions(_ state: inout State) -> [Completion] {
        let batch = state.completions.take()
        guard !batch.isEmpty else { return [] }
        release(batch.count, &state)
        state.slots.completed(batch)
        return batch
    }
}
