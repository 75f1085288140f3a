import Synchronization
import Waiting

/// The steps of a round trip. ``RoundTrip`` calls them in this order.
extension QueueState {
    /// The claim of a task.
    func claim(
        for task: RoundTripTask, under workerID: Int64, generation: Int32, takesCrashed: Bool,
        on connection: ClaimPlan.Connection
    ) -> Claim {
        state.withLock { state in
            Claim(
                queue: name, kinds: shared.kinds, workerID: workerID, limit: task.limit,
                starts: state.claims.starts(of: connection), priorities: state.claims.nextPriorities(),
                isDurable: !task.completions.isEmpty, beginsNow: task.beginsNow, takesCrashed: takesCrashed,
                generation: generation, isSerialized: state.claims.isSerialized(limit: task.limit))
        }
    }

    /// The limits in which the task's completions free slots, to release before the claim.
    func limitsToRelease(_ task: RoundTripTask, isClaiming: Bool) -> Set<String> {
        state.withLock { state in
            state.completions.limitsToRelease(after: task.completions, isClaiming: isClaiming || shared.isStopping)
        }
    }

    /// The first connection waits for the database, or doesn't any more.
    func set(isAsking: Bool) { state.withLock { $0.askingSince = isAsking ? .now : nil } }

    /// A batch is written except for locked jobs. Returns the delay after which to call ``resumePostponed()``; nil
    /// if that is already planned, or nothing is locked.
    func written(_ batch: [Completion], except locked: [Completion]) -> Duration? {
        // Both under one lock: otherwise the worker could find nothing left to write in between, and stop.
        state.withLock { state in
            reserve(locked.count, &state)
            return state.completions.written(batch, except: locked)
        }
    }

    /// Postponed completions are written with the next batch.
    func resumePostponed() {
        state.withLock { $0.completions.resume() }
        work.raise()
    }

    /// The round trip failed: its completions are still to be written.
    ///
    /// - Parameters:
    ///   - refused: the part whose statement the database refused; nil if unknown.
    ///   - isRejected: the same statement would be refused again.
    ///   - hasClaimTimedOut: the claim timed out.
    func notWritten(
        _ task: RoundTripTask, refused: RoundTrip.Part?, isRejected: Bool, hasClaimTimedOut: Bool
    ) {
        state.withLock { state in
            if refused == .claim { state.claims.refused() }
            if hasClaimTimedOut { state.claims.tookTooLong() }
            if refused == .release { state.completions.omitRelease() }
            reserve(task.completions.count, &state)
            let isTheirs = isRejected && (refused == nil || refused == .completions)
            state.completions.notWritten(task.completions, isRefused: isTheirs)
        }
    }

    /// A claim succeeded. Returns whether it returned a full large batch, so that there is enough for two connections.
    func claimed(_ reply: Claim.Reply, limit: Int, on connection: ClaimPlan.Connection) -> Bool {
        state.withLock { state in
            state.claims.succeeded()
            guard let observation = reply.observation else { return false }
            reserve(reply.count, &state)
            state.completions.add(reply.unreadable)
            state.slots.claimed(reply.jobs, beginsOnly: reply.rest == .slots)
            state.claims.observed(
                observation, hasBacklog: reply.count == limit && reply.count >= largeClaim, on: connection,
                at: shared.uptime)
            return state.claims.hasBacklog
        }
    }

    /// Takes the result of a scan ahead. Returns whether any mark moved.
    func scanned(_ scan: LowWaterMark.Observation) -> Bool {
        state.withLock { $0.claims.scanned(scan, at: shared.uptime) }
    }

    /// Ends scanning ahead. Claims go on from the marks.
    func endScanAhead() { state.withLock { $0.claims.endScanAhead() } }

    /// Ends the reservation of a claim: its jobs are now counted themselves, or none came.
    func endReservation(of limit: Int) { state.withLock { release(limit, &$0) } }
}

// MARK: - The loop's phases
extension QueueState {
    func set(isResting: Bool) { state.withLock { $0.isResting = isResting } }

    /// A round trip failed. Returns whether the loop goes on without a delay, to write completions without claims.
    func backOff(for delay: Duration, resettingMarks: Bool) -> Bool {
        state.withLock { state in
            if resettingMarks { state.claims.restart(at: nil) }
            state.isBackingOff = true
            state.claims.failed(retryAt: .now + delay)
            return state.claims.isRefused
        }
    }

    func endBackOff() { state.withLock { $0.isBackingOff = false } }
}
