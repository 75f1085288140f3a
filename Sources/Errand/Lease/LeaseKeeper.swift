import CoreMetrics
import Foundation
import Logging
import Postgres
import Synchronization
import Waiting

/// Keeps the worker's lease: registers the worker, sends one heartbeat for all of its jobs, and drops jobs that it has
/// lost. It runs on a ``ControlThread``, so no handler's code may run within its task.
struct LeaseKeeper {
    let environment: ClaimEnvironment
    let queues: [QueueClaims]
    let watch: AttemptWatch
    let timers: MaintenanceTimers

    private var identity: Identity { environment.identity }
    private var running: Running { environment.attempts.running }
    private var logger: Logger { environment.logger }
    private var control: Database { environment.connections.control }

    /// Runs until its task is cancelled, after the queues' loops have ended.
    func run() async {
        var plan = HeartbeatPlan(every: environment.configuration.heartbeatInterval, at: .now)
        var serverStart: String?
        var offer: KindsOffer?
        var skew = ClockSkew()
        var throttle = LogThrottle()
        var ranAlone = false
        var comparison = UnlistedJobs(environment: environment, queues: queues)
        var reconnects = ReconnectCount(environment.metrics?.reconnects(of: "control"))
        while !Task.isCancelled {
            if plan.mayTry(at: .now) {
                do {
                    try await keepLease(&plan, &serverStart, &offer, &skew, &reconnects, &comparison)
                } catch {
                    // The worker has stopped: nothing has failed.
                    if Task.isCancelled { return }
                    reconnects.failed(with: error)
                    environment.metrics?.heartbeatFailures.increment()
                    plan.failed(at: .now)
                    if throttle.allowsLine() {
                        logger.warning("heartbeat failed", metadata: ["error": "\(error)"])
                    }
                }
            }
            watchAttempts(&ranAlone)
            if !isIdle { plan.ran(at: .now) }
            await rest(&plan)
        }
    }

    private func keepLease(
        _ plan: inout HeartbeatPlan, _ serverStart: inout String?, _ offer: inout KindsOffer?,
        _ skew: inout ClockSkew,
        _ reconnects: inout ReconnectCount, _ comparison: inout UnlistedJobs
    ) async throws {
        // Heartbeats come first: ids of lost claims keep their leases even if no new id can be registered.
        if plan.isDue(at: .now, isAsking: isAsking) {
            try await sendHeartbeat(&serverStart, offer, &skew)
            reconnects.succeeded()
            plan.sent(at: .now)
            identity.heartbeats.add(1, ordering: .relaxed)
            try await pruneClaims()
            try await comparison.run()
        }
        try await retire()
        if identity.current == nil, !environment.stop.isMade {
            try await register(&serverStart, &offer, &skew)
        }
        plan.succeeded()
    }

    private func watchAttempts(_ ranAlone: inout Bool) {
        let attempts = environment.attempts
        attempts.enforceDeadlines(at: .now)
        attempts.handBackStalled(at: .now, isStopping: environment.stop.isMade)
        let runsAlone = environment.capacity.crashedJobs.runsAlone
        // The job must be alone for the database too: no claim runs and no outcome is being written.
        let inFlight = queues.reduce(0) { $0 + $1.held.state.withLock(\.inFlight) }
        if runsAlone, inFlight == 1 { Task { attempts.beginAlone() } }
        // The queues have claimed nothing meanwhile.
        for queue in queues where ranAlone && !runsAlone { queue.wake() }
        ranAlone = runsAlone
    }

    private func rest(_ plan: inout HeartbeatPlan) async {
        let (limit, isResting) = plan.wait(at: .now, isAsking: isAsking)
        let events = await watch.wait(atMost: limit, resting: isResting)
        // A signal that nobody raises: Task.sleep would wait for one of Swift's shared threads.
        if events.needsHeartbeat { await Signal().wait(atMost: plan.request() - .now) }
        // An attempt that begins and ends between two rounds is never seen running.
        if events.hasBegun { plan.ran(at: .now) }
    }

    /// Whether nothing runs and nothing is wrong.
    private var isIdle: Bool {
        running.count == 0 && identity.current != nil && identity.retiring.isEmpty
    }

    /// Whether only a heartbeat can find the cancellation of a running job, because notifications don't arrive.
    private var isAsking: Bool { !environment.idle.listens && running.count > 0 }

    private func register(
        _ serverStart: inout String?, _ offer: inout KindsOffer?, _ skew: inout ClockSkew
    ) async throws {
        let callsFunctions = environment.connections.callsFunctions
        let sent = Date.now
        let time = try await control.query("select clock_timestamp()").scalar(Timestamp.self)
        skew.log(server: time, sent: sent, to: logger)
        let rows = try await control.query(
            try environment.configuration.registration(
                of: environment.attemptEnvironment.handlers, earlier: identity.retiring.sorted(),
                sharesSlots: queues.contains { $0.held.share != nil },
                callsFunctions: callsFunctions))
        let (id, published, started, pause, kinds, inSQL, version, endpoints, callbackKey) = try rows.row(
            of: "errand_internal.register_worker_v1"
        ).decode(
            Int64.self, JSONB.self, String.self, Int64.self, [String].self, JSONB.self, Int64.self, JSONB?.self,
            Bytes?.self)
        try environment.attemptEnvironment.registered.set(
            timeouts: inSQL.decode([String: Int64].self), endpoints: endpoints?.decode([String: Endpoint].self) ?? [:],
            callbackKey: callbackKey)
        environment.set(kinds: kinds)
        offer = KindsOffer(version: version, callsFunctions: callsFunctions)
        let marks = try published.decode([String: [Int64]].self)
        for queue in queues { queue.plan.withLock { $0.register(id, at: marks[queue.name]) } }
        serverStart = started
        timers.set(pause: .microseconds(pause))
        identity.adopt(id)
        logger.info(
            "registered",
            metadata: [
                "worker_id": .stringConvertible(id),
                "queues": .dictionary(environment.configuration.queues.mapValues { .stringConvertible($0) }),
            ])
        let unclaimed = environment.attemptEnvironment.handlers.queues
            .subtracting(environment.configuration.queues.keys).sorted()
        if !unclaimed.isEmpty {
            logger.notice(
                "this worker has kinds of queues that it doesn't claim from",
                metadata: ["queues": .array(unclaimed.map { "\($0)" })])
        }
        for queue in queues { queue.wake() }
    }

    /// - Parameter serverStart: the server start during which the marks were taken.
    private func sendHeartbeat(
        _ serverStart: inout String?, _ offer: KindsOffer?, _ skew: inout ClockSkew
    ) async throws {
        let ids = identity.all
        guard !ids.isEmpty else { return }
        let held = running.leasedJobs()
        let own = Dictionary(uniqueKeysWithValues: queues.map { ($0.name, $0.plan.withLock(\.stored)) })
        let sent = Date.now
        let rows = try await control.query(
            Statement(
                "select *, clock_timestamp() from errand_internal.heartbeat_v1($1, $2::int4, $3, $4)",
                [ids, held.count, try JSONB(encoding: own), serverStart]))
        let received = Date.now
        guard let row = rows.first else { return }
        let (alive, published, started, peers, pause, version, time) = try row.decode(
            [Int64].self, JSONB.self, String.self, Int.self, Int64.self, Int64.self, Timestamp.self)
        skew.log(server: time, sent: sent, received: received, to: logger)
        environment.idle.policy.withLock { $0.peers = peers }
        timers.set(pause: .microseconds(pause))
        if started != serverStart {
            // Positions may be drawn a second time, below the marks. Idle connections are replaced without a failed
            // claim.
            logger.notice("the database was restarted: claims read the queues from their beginning")
            for queue in queues {
                queue.plan.withLock { $0.restart(at: nil) }
                queue.wake()
            }
            serverStart = started
        }
        let marks = try published.decode([String: [Int64]].self)
        for queue in queues {
            if let marks = marks[queue.name] { queue.plan.withLock { $0.catchUp(with: marks) } }
        }
        for id in Set(ids).subtracting(alive) {
            let dropped = drop(held.filter { $0.workerID == id }, because: .leaseLost)
            identity.remove(id)
            environment.written.counts.drop()
            environment.metrics?.leasesLost.increment()
            logger.error(
                "lease lost: its jobs run elsewhere now",
                metadata: ["worker_id": .stringConvertible(id), "dropped": .stringConvertible(dropped)])
        }
        try await dropLost(held)
        let now = KindsOffer(version: version, callsFunctions: environment.connections.callsFunctions)
        if offer != now, let current = identity.current {
            logger.notice("apps, endpoints or kinds with SQL functions have changed: the worker registers anew")
            identity.retire(current)
        }
    }

    /// Stops attempts whose jobs were cancelled or rescued. It is separate from the heartbeat, which a lock on a job
    /// must not block.
    private func dropLost(_ held: [ClaimedJob]) async throws {
        guard !held.isEmpty else { return }
        do {
            let rows = try await control.query(
                Statement("select errand_internal.revoked_jobs_v1($1, $2)", [held.map(\.id), held.map(\.position)]))
            let lost = Set(try rows.scalar([Int64].self))
            let cancelled = drop(held.filter { lost.contains($0.id) }, because: .cancelled)
            if cancelled > 0 {
                logger.notice(
                    "jobs cancelled while running",
                    metadata: ["jobs": .array(lost.sorted().map { .stringConvertible($0) })])
            }
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            logger.debug("the jobs are locked: checked again with the next heartbeat")
        }
    }

    /// Stops the attempts of these jobs. Returns how many.
    private func drop(_ jobs: [ClaimedJob], because interruption: Interruption) -> Int {
        let dropped = environment.attempts.drop(jobs, because: interruption)
        identity.finished(dropped)
        return dropped.count
    }

    /// Removes the records of claims that are over. It is separate from the heartbeat, like ``dropLost(_:)``.
    private func pruneClaims() async throws {
        let over = identity.generations.withLock { $0.advance() }
        guard !over.isEmpty else { return }
        do {
            try await control.execute(
                Statement("select errand_internal.prune_claims_v1($1, $2)", [identity.all, over]))
            identity.generations.withLock { $0.removed(over) }
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            logger.debug("the records of claims are locked: removed with the next heartbeat")
        }
    }

    /// Whether jobs of this id may still run here, or their outcomes be written. Asked in the order in which a job
    /// passes, so that none is missed on its way.
    private func holdsJobs(of id: Int64) -> Bool {
        identity.generations.withLock { $0.areUnderWay(under: id) }
            || running.jobs.contains { $0.workerID == id }
            || queues.contains { $0.held.state.withLock { $0.completions.hasUnwritten(id) } }
    }

    /// Deregisters ids of lost claims once none of their known jobs runs.
    private func retire() async throws {
        for id in identity.retiring where !holdsJobs(of: id) {
            let rows = try await control.query(Statement("select errand_internal.leave_v1($1, true)", [id]))
            let released = try rows.scalar(Int32.self)
            identity.remove(id)
            logger.notice(
                "left an earlier worker id",
                metadata: ["worker_id": .stringConvertible(id), "released": .stringConvertible(released)])
        }
    }
}

/// What decides which kinds a worker has, beside its program. It registers anew when that changes.
private struct KindsOffer: Equatable {
    /// `errand_internal.handlers_version`.
    let version: Int64
    let callsFunctions: Bool
}
