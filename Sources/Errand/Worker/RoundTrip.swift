import Logging
import Postgres
import Synchronization
import Waiting

/// Writes completions and claims jobs in one pipeline and one commit. Only this type combines the two.
struct RoundTrip {
    let queue: QueueState
    let runner: AttemptRunner
    let connection: ClaimPlan.Connection

    private var shared: WorkerState { queue.shared }

    /// The part of a round trip that one of its statements belongs to.
    enum Part { case completions, release, claim }

    /// The statements of a round trip: completions, then the claim, or the release of limits alone.
    private struct Request {
        var statements: [Statement]
        let writes: Int
        var claim: Claim?

        func part(at index: Int) -> Part {
            index < writes ? .completions : claim != nil ? .claim : .release
        }

        /// Whether the claim timed out.
        func hasTimedOut(by error: PostgresError) -> Bool {
            // An error of a single statement has no index.
            let index = error.statement ?? (statements.count == 1 ? 0 : nil)
            return error.isStatementTimeout && index.map(part) == .claim
        }
    }

    /// Runs the task. Returns how many jobs were claimed; nil if nothing was claimed or read.
    ///
    /// - Throws: a ``PostgresError``, after the queue has taken back what was not written.
    func run(_ task: RoundTripTask) async throws -> Int? {
        // The reservation lasts until the jobs have begun, so that the queue doesn't appear empty meanwhile.
        defer { queue.endReservation(of: task.limit) }
        let workerID = shared.identity.current
        let request = request(for: task, under: workerID)
        defer { if let claim = request.claim { shared.generations.withLock { $0.ended(claim.generation) } } }
        var isReserved = request.claim?.takesCrashed == true
        defer { if isReserved { shared.capacity.crashedJobs.claimed(nil, at: shared.uptime) } }
        let ticket = request.writes > 0 ? shared.counts.begin() : nil
        defer { ticket.map(shared.counts.end) }
        guard !request.statements.isEmpty else {
            // There is no statement to send: the completions were committed with their handlers' own writes.
            try written(task.completions, as: [])
            return nil
        }
        let start = ContinuousClock.now
        var results = try await send(request, for: task, under: workerID)
        let took: Duration = .now - start
        let rows = request.claim == nil ? nil : results.removeLast()
        try written(task.completions, as: results.prefix(request.writes))
        let reply = try rows.flatMap { rows in try request.claim.map { try read(rows, of: $0, under: workerID) } }
        if isReserved { shared.capacity.crashedJobs.claimed(reply?.jobs.first { $0.crashes > 0 }, at: shared.uptime) }
        isReserved = false
        shared.configuration.onRoundTrip?(
            RoundTripReport(finished: task.completions.count, claimed: reply?.jobs.count ?? 0, took: took))
        guard let reply else { return nil }
        queue.metrics?.claimed(reply.jobs.count, took: took)
        return begin(reply, of: task.limit)
    }
}

// MARK: - Asking
extension RoundTrip {
    private func request(for task: RoundTripTask, under workerID: Int64?) -> Request {
        var statements = Completion.statements(for: task.completions)
        let writes = statements.count
        var claim = task.limit > 0 ? workerID.map { nextClaim(for: task, under: $0) } : nil
        let limits = task.omitsRelease ? [] : queue.limitsToRelease(task, isClaiming: claim != nil)
        claim?.limitsToRelease = limits
        if let next = claim?.statement ?? Completion.release(limits) { statements.append(next) }
        return Request(statements: statements, writes: writes, claim: claim)
    }

    private func nextClaim(for task: RoundTripTask, under workerID: Int64) -> Claim {
        let takesCrashed = shared.capacity.crashedJobs.reserve(at: shared.uptime)
        let generation = shared.generations.withLock { $0.claims(under: workerID) }
        return queue.claim(
            for: task, under: workerID, generation: generation, takesCrashed: takesCrashed, on: connection)
    }

    private func send(
        _ request: Request, for task: RoundTripTask, under workerID: Int64?
    ) async throws(PostgresError) -> [Rows] {
        do {
            return try await ask(request.statements)
        } catch {
            queue.notWritten(
                task, refused: error.statement.map(request.part),
                isRejected: !error.isTransient && !error.isOutcomeUnknown,
                hasClaimTimedOut: request.hasTimedOut(by: error))
            discardClaim(request, task, under: workerID, isOutcomeUnknown: error.isOutcomeUnknown)
            throw error
        }
    }

    private func ask(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        if connection == .first { queue.set(isAsking: true) }
        defer { if connection == .first { queue.set(isAsking: false) } }
        return try await shared.claims.pipeline(statements)
    }

    /// The claim of a failed round trip returned no jobs that this process knows of.
    private func discardClaim(
        _ request: Request, _ task: RoundTripTask, under workerID: Int64?, isOutcomeUnknown: Bool
    ) {
        if !isOutcomeUnknown {
            if let claim = request.claim { shared.generations.withLock { $0.claimed(0, in: claim.generation) } }
        } else if request.claim != nil || task.completions.contains(where: { $0.outcome == .released }), let workerID {
            // A job that was handed back keeps its position. If this id claimed the job again, a second write of the
            // hand-back would end the new attempt.
            shared.identity.retire(workerID)
        }
    }
}

// MARK: - What was claimed
extension RoundTrip {
    private func read(_ rows: Rows, of claim: Claim, under workerID: Int64?) throws -> Claim.Reply {
        let reply: Claim.Reply
        do {
            reply = try claim.reply(rows)
        } catch {
            // The process doesn't know the claimed jobs. They become available again when it deregisters the id.
            if let workerID { shared.identity.retire(workerID) }
            throw error
        }
        shared.generations.withLock { $0.claimed(reply.count, in: claim.generation) }
        return reply
    }

    private func begin(_ reply: Claim.Reply, of limit: Int) -> Int? {
        if let roomIn = reply.roomIn {
            shared.idlePolling.withLock { $0.expects(workAt: shared.uptime + roomIn) }
        }
        let hasBacklog = queue.claimed(reply, limit: limit, on: connection)
        guard reply.observation != nil else { return nil }
        runner.begin(reply.jobs, of: queue)
        if hasBacklog, connection == .first { queue.backlog.raise() }
        // There is more, as after a full batch.
        return reply.rest == .more ? limit : reply.count
    }
}

// MARK: - What was written
extension RoundTrip {
    private func written(_ batch: [Completion], as results: ArraySlice<Rows>) throws {
        guard !batch.isEmpty else { return }
        let reply = try CompletionReply(results)
        let locked = reply.locked.isEmpty ? [] : batch.filter(reply.isLocked)
        if let delay = queue.written(batch, except: locked) { writeAgain(after: delay) }
        shared.generations.withLock { generations in
            for completion in batch where !reply.isLocked(completion) { generations.finished(completion.job) }
        }
        let isWhole = reply.refused.isEmpty && reply.locked.isEmpty
        record(isWhole ? batch : batch.filter { !reply.isMissing($0) }, reply)
        for id in reply.refused.sorted() {
            shared.logger.warning(
                "late outcome not written: the job was cancelled, or its lease was lost",
                metadata: ["job_id": .stringConvertible(id)])
        }
    }

    private func record(_ written: [Completion], _ reply: CompletionReply) {
        // Maintenance counts the jobs of an id that has lost its lease.
        let ids = shared.identity.all
        shared.counts.add(written.filter { ids.contains($0.job.workerID) }, by: reply.transactions)
        for commit in written.compactMap(\.commit) { shared.counts.end(commit.ticket) }
        shared.metrics?.completed(written)
        shared.failures.write(written, errorIDs: reply.errorIDs, to: shared.logger, at: shared.uptime)
        shared.configuration.onCompletions?(written)
    }

    /// Writes the outcomes of locked jobs again. The lock may belong to a session that cancels them and has not
    /// committed.
    private func writeAgain(after delay: Duration) {
        shared.logger.trace(
            "jobs are locked by another session: their outcomes are written later",
            metadata: ["queue": "\(queue.name)"])
        // The task outlives the round trip. The worker's stop waits for it, because postponed jobs count as held.
        Task {
            try? await Task.sleep(for: delay)
            queue.resumePostponed()
        }
    }
}
