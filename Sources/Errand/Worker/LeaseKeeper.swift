import CoreMetrics
import Foundation
import Logging
import Postgres
import Synchronization
import Waiting

/// Keeps the worker's lease: registers the worker, sends one heartbeat for all of its jobs, and drops jobs that it has
/// lost. It runs on ``WorkerState/controlThread``, so no handler's code may run within its task.
struct LeaseKeeper {
    let shared: WorkerState
    let queues: [QueueState]
    let runner: AttemptRunner

    /// Runs until its task is cancelled, after the queues' loops have ended.
    func run() async {
        var plan = HeartbeatPlan(every: shared.configuration.heartbeatInterval, at: .now)
        var serverStart: String?
        var skew = ClockSkew()
        var throttle = LogThrottle()
        var ranAlone = false
        var comparison = UnlistedJobs(shared: shared, queues: queues)
        var reconnects = ReconnectCount(shared.metrics?.reconnects(of: "control"))
        while !Task.isCancelled {
            if plan.mayTry(at: .now) {
                do {
                    try await keepLease(&plan, &serverStart, &skew, &reconnects, &comparison)
                } catch {
                    // The worker has stopped: nothing has failed.
                    if Task.isCancelled { return }
                    reconnects.failed(with: error)
                    shared.metrics?.heartbeatFailures.increment()
                    plan.failed(at: .now)
                    if throttle.allowsLine() {
                        shared.logger.warning("heartbeat failed", metadata: ["error": "\(error)"])
                    }
                }
            }
            watchAttempts(&ranAlone)
            if !isIdle { plan.ran(at: .now) }
            await rest(&plan)
        }
    }

    private func keepLease(
        _ plan: inout HeartbeatPlan, _ serverStart: inout String?, _ skew: inout ClockSkew,
        _ reconnects: inout ReconnectCount, _ comparison: inout UnlistedJobs
    ) async throws {
        // Heartbeats come first: ids of lost claims keep their leases even if no new id can be registered.
        if plan.isDue(at: .now, isAsking: isAsking) {
            try await sendHeartbeat(&serverStart, &skew)
            reconnects.succeeded()
            plan.sent(at: .now)
            shared.heartbeats.add(1, ordering: .relaxed)
            try await pruneClaims()
            try await comparison.run()
        }
        try await retire()
        if shared.identity.current == nil, !shared.isStopping { try await register(&serverStart, &skew) }
        plan.succeeded()
    }

    private func watchAttempts(_ ranAlone: inout Bool) {
        runner.enforceDeadlines(at: .now)
        runner.handBackStalled(at: .now)
        let runsAlone = shared.capacity.crashedJobs.runsAlone
        // The job must be alone for the database too: no claim runs and no outcome is being written.
        if runsAlone, queues.reduce(0, { $0 + $1.inFlight }) == 1 { Task { runner.beginAlone() } }
        // The queues have claimed nothing meanwhile.
        for queue in queues where ranAlone && !runsAlone { queue.wake() }
        ranAlone = runsAlone
    }

    private func rest(_ plan: inout HeartbeatPlan) async {
        let (limit, isResting) = plan.wait(at: .now, isAsking: isAsking)
        let events = await shared.keeper.wait(atMost: limit, resting: isResting)
        // A signal that nobody raises: Task.sleep would wait for one of Swift's shared threads.
        if events.needsHeartbeat { await Signal().wait(atMost: plan.request() - .now) }
        // An attempt that begins and ends between two rounds is never seen running.
        if events.hasBegun { plan.ran(at: .now) }
    }

    /// Whether nothing runs and nothing is wrong.
    private var isIdle: Bool {
        shared.running.count == 0 && shared.identity.current != nil && shared.identity.retiring.isEmpty
    }

    /// Whether only a heartbeat can find the cancellation of a running job, because notifications don't arrive.
    private var isAsking: Bool { !shared.listens && shared.running.count > 0 }

    private func register(_ serverStart: inout String?, _ skew: inout ClockSkew) async throws {
        let sent = Date.now
        let time = try await shared.control.query("select clock_timestamp()").scalar(Timestamp.self)
        skew.log(server: time, sent: sent, to: shared.logger)
        let rows = try await shared.control.query(
            try shared.configuration.registration(
                of: shared.environment.handlers, earlier: shared.identity.retiring.sorted(),
                sharesSlots: shared.sharesSlots))
        guard
            let (id, published, started, pause) = try rows.first?.decode(
                Int64.self, JSONB.self, String.self, Int64.self)
        else {
            throw UnexpectedReply("errand_internal.register_worker_v1", expected: "one row", came: "none")
        }
        let marks = try published.decode([String: [Int64]].self)
        for queue in queues { queue.restart(at: marks[queue.name]) }
        serverStart = started
        shared.maintenance.set(pause: .microseconds(pause))
        shared.identity.adopt(id)
        shared.logger.info(
            "registered",
            metadata: [
                "worker_id": .stringConvertible(id),
                "queues": .dictionary(shared.configuration.queues.mapValues { .stringConvertible($0) }),
            ])
        for queue in queues { queue.wake() }
    }

    /// - Parameter serverStart: the server start during which the marks were taken.
    private func sendHeartbeat(_ serverStart: inout String?, _ skew: inout ClockSkew) async throws {
        let ids = shared.identity.all
        guard !ids.isEmpty else { return }
        let held = shared.running.leasedJobs()
        let own = Dictionary(uniqueKeysWithValues: queues.map { ($0.name, $0.marks) })
        let sent = Date.now
        let rows = try await shared.control.query(
            Statement(
                "select *, clock_timestamp() from errand_internal.heartbeat_v1($1, $2::int4, $3, $4)",
                [ids, held.count, try JSONB(encoding: own), serverStart]))
        let received = Date.now
        guard let row = rows.first else { return }
        let (alive, published, started, peers, pause, time) = try row.decode(
            [Int64].self, JSONB.self, String.self, Int.self, Int64.self, Timestamp.self)
        skew.log(server: time, sent: sent, received: received, to: shared.logger)
        shared.idlePolling.withLock { $0.peers = peers }
        shared.maintenance.set(pause: .microseconds(pause))
        if started != serverStart {
            // Positions may be drawn a second time, below the marks. Idle connections are replaced without a failed
            // claim.
            shared.logger.notice("the database was restarted: claims read the queues from their beginning")
            for queue in queues {
                queue.restart(at: nil)
                queue.wake()
            }
            serverStart = started
        }
        let marks = try published.decode([String: [Int64]].self)
        for queue in queues {
            if let marks = marks[queue.name] { queue.catchUp(with: marks) }
        }
        for id in Set(ids).subtracting(alive) {
            let dropped = runner.drop(held.filter { $0.workerID == id }, because: .leaseLost)
            shared.identity.remove(id)
            shared.counts.drop()
            shared.generations.withLock { $0.left(id) }
            shared.metrics?.leasesLost.increment()
            shared.logger.error(
                "lease lost: its jobs run elsewhere now",
                metadata: ["worker_id": .stringConvertible(id), "dropped": .stringConvertible(dropped)])
        }
        try await dropLost(held)
    }

    /// Stops attempts whose jobs were cancelled or rescued. It is separate from the heartbeat, which a lock on a job
    /// must not block.
    private func dropLost(_ held: [ClaimedJob]) async throws {
        guard !held.isEmpty else { return }
        do {
            let rows = try await shared.control.query(
                Statement("select errand_internal.revoked_jobs_v1($1, $2)", [held.map(\.id), held.map(\.position)]))
            let lost = Set(try rows.scalar([Int64].self))
            let cancelled = runner.drop(held.filter { lost.contains($0.id) }, because: .cancelled)
            if cancelled > 0 {
                shared.logger.notice(
                    "jobs cancelled while running",
                    metadata: ["jobs": .array(lost.sorted().map { .stringConvertible($0) })])
            }
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            shared.logger.debug("the jobs are locked: checked again with the next heartbeat")
        }
    }

    /// Removes the records of claims that are over. It is separate from the heartbeat, like ``dropLost(_:)``.
    private func pruneClaims() async throws {
        let over = shared.generations.withLock { $0.advance() }
        guard !over.isEmpty else { return }
        do {
            try await shared.control.execute(
                Statement("select errand_internal.prune_claims_v1($1, $2)", [shared.identity.all, over]))
            shared.generations.withLock { $0.removed(over) }
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            shared.logger.debug("the records of claims are locked: removed with the next heartbeat")
        }
    }

    /// Deregisters ids of lost claims once none of their known jobs runs.
    private func retire() async throws {
        for id in shared.identity.retiring where !shared.running.leasedJobs().contains(where: { $0.workerID == id }) {
            // After that, an outcome for this id would be refused.
            guard queues.allSatisfy({ !$0.hasUnwritten(id) }) else { continue }
            let rows = try await shared.control.query(Statement("select errand_internal.leave_v1($1, true)", [id]))
            let released = try rows.scalar(Int32.self)
            shared.identity.remove(id)
            shared.generations.withLock { $0.left(id) }
            shared.logger.notice(
                "left a worker id whose claim was lost",
                metadata: ["worker_id": .stringConvertible(id), "released": .stringConvertible(released)])
        }
    }
}
