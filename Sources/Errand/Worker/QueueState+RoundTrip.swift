import Synchronization

/// What a round trip takes from its queue, and what it brings back. ``RoundTrip`` calls these, in this order.
extension QueueState {
    /// The claim of a task.
    func claim(
        for task: RoundTripTask, under workerID: Int64, epoch: Int32, takesSuspect: Bool,
        on connection: ClaimPlan.Connection
    ) -> Claim {
        state.withLock { state in
            Claim(
                queue: name, kinds: shared.kinds, workerID: workerID, limit: task.limit,
                starts: state.claims.starts(of: connection), priorities: state.claims.nextPriorities(),
                isDurable: !task.completions.isEmpty, beginsNow: task.beginsNow, takesSuspect: takesSuspect,
                epoch: epoch, takesTurn: state.claims.isDeep)
        }
    }

    /// The limits that the task's completions leave slots of, for the claim behind them.
    func limitsToRelease(_ task: RoundTripTask, isClaiming: Bool) -> Set<String> {
        state.withLock { state in
            state.completions.limitsToRelease(after: task.completions, isClaiming: isClaiming || shared.isStopping)
        }
    }

    /// The first connection waits for the database, or doesn't any more.
    func set(isAsking: Bool) { state.withLock { $0.isAsking = isAsking } }

    /// Completions are written but for those whose jobs are locked. Returns after which delay to call
    /// ``resumePostponed()``; nil if that is planned already, or nothing is locked.
    func written(except locked: [Completion]) -> Duration? {
        // One step: the worker must not take all for written in between, and stop.
        state.withLock { state in
            hold(locked.count, &state)
            return state.completions.written(except: locked)
        }
    }

    /// What was postponed is written with the next batch.
    func resumePostponed() {
        state.withLock { $0.completions.resume() }
        work.raise()
    }

    /// The round trip failed: its completions are still to be written.
    ///
    /// - Parameters:
    ///   - refused: whose statement the database refused; nil if that isn't known.
    ///   - isRejected: the same statement would be refused again.
    ///   - hasClaimTimedOut: its claim took longer than the database lets it.
    func notWritten(
        _ task: RoundTripTask, refused: RoundTrip.Part?, isRejected: Bool, hasClaimTimedOut: Bool
    ) {
        state.withLock { state in
            if refused == .claim { state.claims.refused() }
            if hasClaimTimedOut { state.claims.tookTooLong() }
            if refused == .release { state.completions.omitRelease() }
            hold(task.completions.count, &state)
            let isTheirs = isRejected && (refused == nil || refused == .completions)
            state.completions.notWritten(task.completions, isRefused: isTheirs)
        }
    }

    /// A claim got through. Returns whether it got a whole large batch, so that there is enough for two connections.
    func claimed(_ reply: Claim.Reply, limit: Int, on connection: ClaimPlan.Connection) -> Bool {
        state.withLock { state in
            state.claims.succeeded()
            guard let observation = reply.observation else { return false }
            hold(reply.count, &state)
            state.completions.add(reply.unreadable)
            state.slots.claimed(reply.jobs, beginsOnly: reply.rest == .slots)
            state.claims.observed(
                observation, isDeep: reply.count == limit && reply.count >= largeClaim, on: connection,
                at: shared.uptime)
            return state.claims.isDeep
        }
    }

    /// What a scan ahead has shown. Returns whether any mark moved.
    func scanned(_ scan: LowWaterMark.Observation) -> Bool {
        state.withLock { $0.claims.scanned(scan, at: shared.uptime) }
    }

    /// Claims go on from where the marks are.
    func endScanAhead() { state.withLock { $0.claims.endScanAhead() } }

    /// The jobs that a claim asked for have come and are held by themselves, or haven't.
    func unhold(_ limit: Int) { state.withLock { hold(-limit, &$0) } }
}

// MARK: - The loop's phases
extension QueueState {
    func set(isResting: Bool) { state.withLock { $0.isResting = isResting } }

    /// A round trip failed. Returns whether completions are written meanwhile, so that the loop goes on without a
    /// delay.
    func backOff(for delay: Duration, forgettingMarks: Bool) -> Bool {
        state.withLock { state in
            if forgettingMarks { state.claims.restart(at: nil) }
            state.isBackingOff = true
            state.claims.failed(retryAt: .now + delay)
            return state.claims.isApart
        }
    }

    func endBackOff() { state.withLock { $0.isBackingOff = false } }
}
