import Logging
import Postgres
import Synchronization
import Waiting

/// Makes the round trips of one queue, in two loops.
///
/// The first one claims all due jobs. While the queue has a backlog, the second one alternates with it, so that
/// the server works on one batch while the worker runs another.
struct QueueLoop {
    let queue: QueueClaims
    let environment: ClaimEnvironment

    /// Runs until the worker stops and every outcome is written.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await claimBacklog() }
            await claimAll()
            queue.backlog.raise()
        }
    }

    /// The first loop: all due work, even a single job.
    private func claimAll() async {
        let trip = RoundTrip(queue: queue, environment: environment, loop: .first)
        var backoff = Backoff()
        var reconnects = ReconnectCount(environment.metrics?.reconnects(of: "claim"))
        while true {
            queue.iterations.add(1, ordering: .relaxed)
            queue.updateShare()
            switch next() {
            case .end: return
            case .scanAhead: await scanAhead()
            case .rest(let limit): await rest(atMost: limit)
            case .run(let task):
                do {
                    note(try await trip.run(task), of: task)
                    // A write without a claim says nothing about failing claims.
                    if !queue.plan.withLock(\.isRefused) { backoff.reset() }
                    reconnects.succeeded()
                } catch {
                    reconnects.failed(with: error)
                    queue.phase.withLock { $0 = .backingOff }
                    await recover(from: error, after: backoff.next(), at: queue.held.work)
                    queue.phase.withLock { $0 = .working }
                }
            }
        }
    }

    /// The next step of the first loop.
    private enum Step {
        case run(RoundTripTask)
        /// Scan ahead before the next claim.
        case scanAhead
        /// Wait for something to do, at most for the delay of claims after a failed one.
        case rest(atMost: Duration?)
        /// The worker stops, and this queue has nothing left to write.
        case end
    }

    private func next() -> Step {
        // Whether no claim is needed before a wake-up.
        let isArmed = environment.idle.isArmed
        return queue.plan.withLock { plan in
            queue.held.state.withLock { held in
                let completions = held.takeCompletions()
                let delay = plan.delay(at: .now)
                let claims =
                    delay == nil && !plan.scansAhead
                    && Self.mayClaim(behind: completions, isArmed: isArmed, plan, held)
                let limit = claims ? min(queue.room(held), plan.most) : 0
                if limit > 0 { plan.asks() }
                if limit > 0 || !completions.isEmpty { return .run(held.task(completions, limit: limit)) }
                if environment.stop.isMade { return held.inFlight == 0 ? .end : .rest(atMost: delay) }
                return plan.scansAhead ? .scanAhead : .rest(atMost: delay)
            }
        }
    }

    /// Whether a claim may find a job. After completions, it may find one without a wake-up.
    private static func mayClaim(
        behind completions: [Completion], isArmed: Bool, _ plan: borrowing ClaimPlan, _ held: borrowing HeldJobs.State
    ) -> Bool {
        if completions.isEmpty { return plan.isAwake }
        if plan.isRefused { return false }
        if plan.isAwake || !isArmed { return true }
        if held.slots.beginsOnly { return true }
        if held.completions.hasUnreleased { return true }
        return completions.contains(where: \.mayLeaveDueJob)
    }

    private func rest(atMost limit: Duration?) async {
        queue.phase.withLock { $0 = .resting }
        await queue.held.work.wait(atMost: limit ?? queue.checksShareIn)
        queue.phase.withLock { $0 = .working }
        // From now on the shares are updated even while a claim hangs.
        queue.held.share?.changed.raise()
    }

    /// A round trip returned `claimed` jobs; nil if it claimed none, or could not claim.
    private func note(_ claimed: Int?, of task: RoundTripTask) {
        if let claimed, claimed > 0 {
            let calls = environment.idle.policy.withLock { policy in
                policy.worked(at: .uptime)
                return claimed == task.limit && policy.callsOthers(at: .uptime)
            }
            if calls { Task { await callOthers() } }
        }
        // Also if nothing could be claimed, because the queue is paused or its rate is locked: a wake-up or a probe
        // follows.
        guard task.limit > 0, claimed != task.limit else { return }
        let isAwake = queue.plan.withLock { plan in
            plan.fallAsleep()
            return plan.isAwake
        }
        if !isAwake { environment.idle.changed.raise() }
    }

    /// Wakes more workers. Without it, they find the jobs by their probes.
    private func callOthers() async {
        do {
            try await environment.connections.control.execute("select pg_notify('errand_wake', '')")
        } catch {
            environment.logger.debug("other workers could not be woken", metadata: ["error": "\(error)"])
        }
    }

    /// The second loop: large batches only, as long as there are any.
    private func claimBacklog() async {
        let trip = RoundTrip(queue: queue, environment: environment, loop: .second)
        var backoff = Backoff()
        while true {
            await queue.backlog.wait()
            if environment.stop.isMade { return }
            // A new worker reads once over all dead entries. If both loops did that at the same time, each would
            // mistake the other's claim for a long-running writer and rescan.
            guard queue.plan.withLock(\.stored).contains(where: { $0 > 0 }) else { continue }
            do {
                // Nil: the queue is paused, its rate has no room, or the lease is lost. The first loop goes on alone.
                while let task = nextLarge(), try await trip.run(task) != nil { backoff.reset() }
            } catch {
                await recover(from: error, after: backoff.next(), at: queue.backlog)
            }
            // When the first loop stops, it waits for what this one has written.
            queue.held.work.raise()
        }
    }

    /// A large batch for the second loop; nil if the first one is enough.
    private func nextLarge() -> RoundTripTask? {
        queue.plan.withLock { plan in
            queue.held.state.withLock { held in
                let limit = min(queue.room(held), plan.most)
                guard plan.hasBacklog, !plan.scansAhead, !plan.isRefused, !held.completions.isIsolating,
                    limit >= queue.largeClaim
                else { return nil }
                return held.task(held.takeCompletions(), limit: limit)
            }
        }
    }

    /// A failure ends scanning ahead: the next claim shows the cause.
    private func scanAhead() async {
        do {
            try await ScanAhead(queue: queue, environment: environment).run()
        } catch {
            environment.logger.debug("could not scan ahead", metadata: ["queue": "\(queue.name)", "error": "\(error)"])
            queue.plan.withLock { $0.endScanAhead() }
        }
    }

    private func recover(from error: any Error, after delay: Duration, at signal: Signal) async {
        environment.logger.warning(
            "claiming is interrupted",
            metadata: [
                "queue": "\(queue.name)", "error": "\(error)",
                "retry_in_seconds": .stringConvertible(delay / .seconds(1)),
            ])
        // After a lost connection another server may have taken over, so the marks are void. A statement that timed out
        // was ended by the same server, so they stay valid. Without them, each claim would read all dead entries that a
        // held snapshot keeps from being vacuumed, and take even longer.
        let isTimeout = (error as? PostgresError)?.isStatementTimeout == true
        let goesOn = queue.plan.withLock { plan in
            if !isTimeout { plan.restart(at: nil) }
            plan.failed(retryAt: .now + delay)
            // Completions are written without claims meanwhile.
            return plan.isRefused
        }
        guard !goesOn else { return }
        let end = ContinuousClock.now + delay
        // Attempts that end raise the signal too. After a wake-up, the database may be back.
        while !queue.plan.withLock(\.wasWoken), .now < end { await signal.wait(atMost: end - .now) }
    }
}

extension HeldJobs.State {
    /// The round trip that writes these completions and claims up to `limit` jobs, which are reserved.
    fileprivate mutating func task(_ completions: [Completion], limit: Int) -> RoundTripTask {
        let beginsNow = slots.free
        reserve(limit)
        return RoundTripTask(
            completions: completions, limit: limit, beginsNow: beginsNow,
            omitsRelease: self.completions.takeOmission())
    }
}
