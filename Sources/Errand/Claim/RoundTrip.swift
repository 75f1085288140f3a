import Logging
import Postgres
import Synchronization
import Waiting

/// What one round trip is to do.
struct RoundTripTask {
    var completions: [Completion] = []
    /// The most jobs to claim, for which there is room; 0 claims none.
    var limit = 0
    /// How many of them begin at once.
    var beginsNow = 0
    /// Whether to omit the release of the limits of completed jobs.
    var omitsRelease = false
}

/// Writes completions and claims jobs in one pipeline and one commit. Only this type combines the two.
struct RoundTrip {
    let queue: QueueClaims
    let environment: ClaimEnvironment
    let loop: ClaimPlan.Loop

    private var identity: Identity { environment.identity }

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
        // Lasts until the claimed jobs take its place, so that the queue doesn't appear empty meanwhile.
        var reserved = task.limit
        defer { if reserved > 0 { queue.held.state.withLock { $0.release(reserved) } } }
        let workerID = identity.current
        let request = request(for: task, under: workerID)
        defer { if let claim = request.claim { identity.generations.withLock { $0.ended(claim.generation) } } }
        let crashedJobs = environment.capacity.crashedJobs
        var isReserved = request.claim?.takesCrashed == true
        defer { if isReserved { crashedJobs.claimed(nil, at: .uptime) } }
        let ticket = request.writes > 0 ? environment.written.counts.begin() : nil
        defer { ticket.map(environment.written.counts.end) }
        guard !request.statements.isEmpty else {
            // There is no statement to send: the completions were committed with their handlers' own writes.
            try written(task.completions, as: [])
            return nil
        }
        let start = ContinuousClock.now
        var results = try await send(request, for: task, under: workerID)
        let took: Duration = .now - start
        let rows = request.claim == nil ? nil : results.removeLast()
        do {
            try written(task.completions, as: results.prefix(request.writes))
        } catch {
            // Written again, they are refused. The claimed jobs aren't known.
            queue.held.state.withLock { $0.notWritten(task.completions, because: .unknown) }
            workerID.map(identity.retire)
            throw error
        }
        let reply = try rows.flatMap { rows in try request.claim.map { try read(rows, of: $0, under: workerID) } }
        if isReserved { crashedJobs.claimed(reply?.jobs.first { $0.crashes > 0 }, at: .uptime) }
        isReserved = false
        environment.configuration.onRoundTrip?(
            RoundTripReport(finished: task.completions.count, claimed: reply?.jobs.count ?? 0, took: took))
        guard let reply else { return nil }
        queue.metrics?.claimed(reply.jobs.count, took: took)
        return begin(reply, insteadOf: &reserved, under: workerID)
    }
}

// MARK: - Asking
extension RoundTrip {
    private func request(for task: RoundTripTask, under workerID: Int64?) -> Request {
        var statements = Completion.statements(for: task.completions)
        let writes = statements.count
        var claim = task.limit > 0 ? workerID.map { nextClaim(for: task, under: $0) } : nil
        let limits = task.omitsRelease ? [] : limitsToRelease(after: task.completions, isClaiming: claim != nil)
        claim?.limitsToRelease = limits
        if let next = claim?.statement ?? Completion.release(limits) { statements.append(next) }
        return Request(statements: statements, writes: writes, claim: claim)
    }

    private func nextClaim(for task: RoundTripTask, under workerID: Int64) -> Claim {
        let takesCrashed = environment.capacity.crashedJobs.reserve(at: .uptime)
        let generation = identity.generations.withLock { $0.claims(under: workerID) }
        return queue.plan.withLock { plan in
            Claim(
                queue: queue.name, kinds: environment.kinds, workerID: workerID, limit: task.limit,
                starts: plan.starts(of: loop), priorities: plan.nextPriorities(),
                isDurable: !task.completions.isEmpty, beginsNow: task.beginsNow, takesCrashed: takesCrashed,
                generation: generation, isSerialized: plan.isSerialized(limit: task.limit))
        }
    }

    /// A worker that stops releases limits without a claim.
    private func limitsToRelease(after batch: [Completion], isClaiming: Bool) -> Set<String> {
        let isLast = environment.stop.isMade
        return queue.held.state.withLock {
            $0.completions.limitsToRelease(after: batch, isClaiming: isClaiming || isLast)
        }
    }

    private func send(
        _ request: Request, for task: RoundTripTask, under workerID: Int64?
    ) async throws(PostgresError) -> [Rows] {
        do {
            return try await ask(request.statements)
        } catch {
            takeBack(task, request, after: error)
            discardClaim(request, task, under: workerID, isOutcomeUnknown: error.isOutcomeUnknown)
            throw error
        }
    }

    private func ask(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        if loop == .first { queue.phase.withLock { $0 = .asking(since: .now) } }
        defer { if loop == .first { queue.phase.withLock { $0 = .working } } }
        return try await environment.connections.claims.pipeline(statements)
    }

    /// The round trip failed: its completions are still to be written.
    private func takeBack(_ task: RoundTripTask, _ request: Request, after error: PostgresError) {
        let refused = error.statement.map(request.part)
        queue.plan.withLock { plan in
            if refused == .claim { plan.refused() }
            if request.hasTimedOut(by: error) { plan.tookTooLong() }
        }
        queue.held.state.withLock { held in
            if refused == .release { held.completions.omitRelease() }
            held.notWritten(task.completions, because: Self.failure(of: error, in: refused))
        }
    }

    private static func failure(of error: PostgresError, in refused: Part?) -> CompletionBuffer.Failure {
        if error.isOutcomeUnknown { return .unknown }
        if error.isTransient || refused == .claim || refused == .release { return .interrupted }
        return error.concernsValue ? .valueRefused : .refused
    }

    /// The claim of a failed round trip returned no jobs that this process knows of.
    private func discardClaim(
        _ request: Request, _ task: RoundTripTask, under workerID: Int64?, isOutcomeUnknown: Bool
    ) {
        if !isOutcomeUnknown {
            if let claim = request.claim { identity.generations.withLock { $0.claimed(0, in: claim.generation) } }
        } else if request.claim != nil || task.completions.contains(where: { $0.outcome == .released }), let workerID {
            // A job that was handed back keeps its position. If this id claimed the job again, a second write of the
            // hand-back would end the new attempt.
            identity.retire(workerID)
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
            if let workerID { identity.retire(workerID) }
            throw error
        }
        identity.generations.withLock { $0.claimed(reply.count, in: claim.generation) }
        return reply
    }

    private func begin(_ reply: Claim.Reply, insteadOf reserved: inout Int, under workerID: Int64?) -> Int? {
        let limit = reserved
        if let roomIn = reply.roomIn { environment.idle.expects(workIn: roomIn) }
        guard let observation = reply.observation else {
            queue.plan.withLock { $0.succeeded() }
            return nil
        }
        var (jobs, ended) = (reply.jobs, reply.unreadable)
        // A worker that stops begins nothing more.
        if environment.stop.isMade {
            for job in jobs { environment.capacity.crashedJobs.finished(job) }
            (jobs, ended) = ([], ended + jobs.map(Completion.released))
        }
        // There is enough for both loops after a full large batch.
        let hasBacklog = reply.count == limit && limit >= queue.largeClaim
        queue.plan.withLock { plan in
            plan.succeeded()
            plan.observed(observation, under: workerID, hasBacklog: hasBacklog, on: loop, at: .uptime)
        }
        let older = queue.held.take(jobs, ended: ended, insteadOf: limit, beginsOnly: reply.rest == .slots)
        reserved = 0
        identity.finished(environment.attempts.drop(older, because: .leaseLost))
        if hasBacklog, loop == .first { queue.backlog.raise() }
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
        if let delay = queue.held.state.withLock({ $0.written(batch, except: locked) }) { writeAgain(after: delay) }
        identity.finished(batch.lazy.filter { !reply.isLocked($0) }.map(\.job))
        environment.written.record(batch, reply, leased: identity.all)
    }

    /// Writes the outcomes of locked jobs again. The lock may belong to a session that cancels them and has not
    /// committed.
    private func writeAgain(after delay: Duration) {
        environment.logger.trace(
            "jobs are locked by another session: their outcomes are written later",
            metadata: ["queue": "\(queue.name)"])
        // The task outlives the round trip. The worker's stop waits for it, because postponed jobs count as held.
        Task {
            try? await Task.sleep(for: delay)
            queue.held.state.withLock { $0.completions.resume() }
            queue.held.work.raise()
        }
    }
}
