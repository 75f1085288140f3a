import Logging
import Postgres
import Synchronization

/// One round trip: ends are written, jobs are claimed.
extension ClaimLoop {
    /// Until outcomes of locked jobs are written again: at first as long as a claim takes, which may have met their rows
    /// while they were being claimed here. Twice as long each time, up to `longestPostponement`.
    static let firstPostponement: Duration = .milliseconds(5)
    private static let longestPostponement: Duration = .milliseconds(100)

    /// Answers how many jobs came, nil where nothing was asked or read.
    func roundTrip(_ task: RoundTripTask, on turn: Turn) async throws -> Int? {
        let ended = task.ended
        // Until its jobs have begun, so that nobody takes the queue for empty meanwhile.
        defer { state.withLock { hold(-task.limit, &$0) } }
        let workerID = shared.identity.current
        var statements = Completion.statements(for: ended)
        let writes = statements.count
        let claim =
            task.limit > 0 ? workerID.map { nextClaim(task, workerID: $0, on: turn) } : nil
        if !task.omitsRelease, let release = release(after: ended, claims: claim != nil) { statements.append(release) }
        if let claim { statements.append(claim.statement) }
        var isReserved = claim?.takesSuspect == true
        defer { if isReserved { shared.suspects.claimed(nil, at: shared.uptime) } }
        let ticket = writes > 0 ? shared.counts.begin() : nil
        defer { ticket.map(shared.counts.end) }
        guard !statements.isEmpty else {
            // Nothing to ask, or nothing to write: what ended was committed with its handler's own writes.
            try written(ended, as: [])
            return nil
        }
        let start = ContinuousClock.now
        var answers: [Rows]
        do {
            answers = try await ask(statements, on: turn)
        } catch {
            let refused: Part? = error.statement.map { place in
                place < writes ? .ends : claim != nil && place == statements.count - 1 ? .claim : .release
            }
            giveBack(task, refused: refused, isRejected: !error.isTransient && !error.isOutcomeUnknown)
            if !error.isOutcomeUnknown {
                if let claim { shared.epochs.withLock { $0.claimed(0, in: claim.epoch) } }
            } else if claim != nil || ended.contains(where: { $0.outcome == .released }), let workerID {
                // A job that was handed back keeps its position. Were it claimed under this id again, a second try to
                // hand it back would end that attempt.
                shared.identity.doubt(workerID)
            }
            throw error
        }
        let took: Duration = .now - start
        let rows = claim == nil ? nil : answers.removeLast()
        try written(ended, as: answers.prefix(writes))
        let claimed: Claim.Answer?
        do {
            claimed = try rows.flatMap { try claim?.answer($0) }
        } catch {
            // Its jobs are claimed, and nobody here knows of them: they go back in line with the id.
            if let workerID { shared.identity.doubt(workerID) }
            throw error
        }
        if let claim {
            let count = claimed.map { $0.jobs.count + $0.unreadable.count } ?? 0
            shared.epochs.withLock { $0.claimed(count, in: claim.epoch) }
        }
        if isReserved { shared.suspects.claimed(claimed?.jobs.first { $0.crashes > 0 }, at: shared.uptime) }
        isReserved = false
        shared.configuration.onRoundTrip?(
            RoundTrip(finished: ended.count, claimed: claimed?.jobs.count ?? 0, took: took))
        guard let claimed else { return nil }
        metrics?.claimed(claimed.jobs.count, took: took)
        return begin(claimed, of: task.limit, on: turn)
    }

    /// Lets jobs go that wait for the limits of ended ones, for the claim behind it to take. Without a claim they would go to
    /// the end of the line: then the next claim lets them go, or housekeeping does within 200 ms.
    private func release(after ended: [Completion], claims: Bool) -> Statement? {
        state.withLock { state in
            guard claims || shared.isStopping else {
                state.unreleased.formUnion(ended.compactMap(\.job.options?.limitKey))
                return nil
            }
            defer { state.unreleased = [] }
            return Completion.release(state.unreleased.union(Completion.limitKeys(of: ended)))
        }
    }

    private func ask(_ statements: [Statement], on turn: Turn) async throws(PostgresError) -> [Rows] {
        if turn == .first { state.withLock { $0.isAsking = true } }
        defer { if turn == .first { state.withLock { $0.isAsking = false } } }
        return try await shared.claims.pipeline(statements)
    }

    private func nextClaim(_ task: RoundTripTask, workerID: Int64, on turn: Turn) -> Claim {
        let takesSuspect = shared.suspects.reserve(at: shared.uptime)
        let epoch = shared.epochs.withLock { $0.claims(under: workerID) }
        return state.withLock { state in
            state.claims += 1
            // One claim in sixteen reads the priorities in reverse, so that the lowest is never starved for ever.
            let lanes = state.claims % 16 == 0 ? [4, 3, 2, 1] : [1, 2, 3, 4]
            return Claim(
                queue: queue, kinds: shared.kinds, workerID: workerID, limit: task.limit,
                starts: state.starts(of: turn), lanes: lanes, isDurable: !task.ended.isEmpty,
                beginsNow: task.beginsNow, takesSuspect: takesSuspect, epoch: epoch, takesTurn: state.isDeep)
        }
    }

    private func begin(_ claimed: Claim.Answer, of limit: Int, on turn: Turn) -> Int? {
        state.withLock { state in
            state.claimsApart = false
            state.claimsFrom = nil
        }
        guard let observation = claimed.observation else { return nil }
        let count = claimed.jobs.count + claimed.unreadable.count
        let isDeep = state.withLock { state in
            hold(count, &state)
            state.ended += claimed.unreadable
            state.ahead.claimed(
                claimed.jobs.count, bytes: claimed.jobs.reduce(0) { $0 + $1.payload.bytes.count })
            state.beginsOnly = claimed.rest == .slots
            state.isDeep = count == limit && count >= largeClaim
            if !state.marks[turn.rawValue].observe(observation, at: shared.uptime) {
                for other in Turn.allCases where other != turn { state.marks[other.rawValue] = LowWaterMark() }
            }
            return state.isDeep
        }
        begin(claimed.jobs)
        if isDeep, turn == .first { deep.raise() }
        // There is more: as good as a whole batch.
        return claimed.rest == .more ? limit : count
    }

    private func written(_ ended: [Completion], as answers: ArraySlice<Rows>) throws {
        guard !ended.isEmpty else { return }
        let answer = try CompletionReply(answers)
        let locked = answer.locked.isEmpty ? [] : ended.filter { answer.locked.contains($0.job.id) }
        // One step: the worker must not take all for written in between, and stop.
        let delay = state.withLock { state in
            state.writes -= 1
            hold(locked.count, &state)
            return state.postpone(locked, atMost: Self.longestPostponement)
        }
        if let delay { writeAgain(after: delay) }
        shared.epochs.withLock { epochs in
            for completion in ended where !answer.locked.contains(completion.job.id) { epochs.ended(completion.job) }
        }
        let missing = answer.refused.union(answer.locked)
        let kept = missing.isEmpty ? ended : ended.filter { !missing.contains($0.job.id) }
        // What was held under an id that has lost its lease, housekeeping counts.
        let ids = shared.identity.all
        shared.counts.add(kept.filter { ids.contains($0.job.workerID) }, by: answer.transactions)
        for commit in kept.compactMap(\.commit) { shared.counts.end(commit.ticket) }
        shared.metrics?.completed(kept)
        shared.failures.write(kept, to: shared.logger, at: shared.uptime)
        shared.configuration.onEnds?(kept.map(AttemptEnd.init))
        for id in answer.refused.sorted() {
            shared.logger.warning(
                "late end not written: the job was cancelled, or its lease was lost", metadata: ["job_id": "\(id)"])
        }
    }

    /// Writes the outcomes of jobs again that another session has locked, such as one that cancels them and has not committed.
    private func writeAgain(after delay: Duration) {
        shared.logger.trace(
            "jobs are locked by another session: their outcomes are written later", metadata: ["queue": "\(queue)"])
        // It outlives the round trip; the worker's stop waits for it, since what is postponed counts as held.
        Task {
            try? await Task.sleep(for: delay)
            state.withLock { state in
                state.ended.append(contentsOf: state.postponed)
                state.postponed = []
            }
            signal.raise()
        }
    }

    /// The part of a round trip that one of its statements belongs to.
    private enum Part { case ends, release, claim }

    /// Takes ends back that were not written. Only a refusal of their own statement is theirs.
    private func giveBack(_ task: RoundTripTask, refused: Part?, isRejected: Bool) {
        let ended = task.ended
        state.withLock { state in
            if refused == .claim { state.claimsApart = true }
            if refused == .release { state.omitsRelease = true }
            guard !ended.isEmpty else { return }
            let isTheirs = isRejected && (refused == nil || refused == .ends)
            hold(ended.count, &state)
            state.writes -= 1
            if isTheirs, ended.count == 1 {
                // Alone, and still refused: it can't be written as it is. Its reason can.
                var completion = ended[0]
                completion.result = completion.result.unwritable
                state.ended.insert(completion, at: 0)
            } else {
                state.ended.insert(contentsOf: ended, at: 0)
            }
            state.isolates = isTheirs
        }
    }
}
