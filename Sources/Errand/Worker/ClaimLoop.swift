import Logging
import Postgres
import Synchronization

/// Claims from one queue and starts what it got; writes ends with the next claim, in one round trip and one commit.
///
/// There is no timer between an end and its write: while one round trip is under way the next group of ends forms.
final class ClaimLoop: Sendable {
    let queue: String
    private let slots: Int
    private let shared: WorkerState
    private let metrics: QueueMetrics?
    /// Rings when an attempt has ended, when a wake-up came, and when the worker stops.
    let signal = Signal()

    private struct State {
        var ended: [Settlement] = []
        /// Attempts that hold a slot: started, and their end not yet taken to be written.
        var running = 0
        var mark = LowWaterMark()
        var claims = 0
        var wasWoken = false
        /// Ends have been taken and their write is under way.
        var isWriting = false
        /// A write failed for a reason of its own: the ends are written one by one, to find the one that it was.
        var isolates = false
    }

    private let state = Mutex(State())

    init(queue: String, slots: Int, shared: WorkerState) {
        self.queue = queue
        self.slots = slots
        self.shared = shared
        metrics = shared.metrics?[queue]
    }

    /// Runs until the worker stops and every end is written.
    func run() async {
        var poll = PollPolicy(interval: shared.configuration.pollInterval, listens: shared.listens)
        var backoff = Backoff()
        var reconnects = ReconnectCount(shared.metrics?.reconnects(of: "claim"))
        var nextLook = ContinuousClock.now
        while true {
            poll.listens = shared.listens
            let (ended, running, wasWoken) = takeEnded()
            if wasWoken { poll.woken(at: shared.uptime) }
            let room = shared.isStopping ? 0 : min(slots - running, shared.configuration.batch)
            let mayClaim = room > 0 && (wasWoken || !ended.isEmpty || nextLook <= .now)
            if ended.isEmpty && !mayClaim {
                if shared.isStopping && running == 0 { return }
                let isRoomLeft = room > 0
                await signal.wait(atMost: isRoomLeft ? max(.zero, nextLook - .now) : nil)
                if isRoomLeft && nextLook <= .now { poll.slept() }
                continue
            }
            do {
                let claimed = try await roundTrip(ended: ended, limit: mayClaim ? room : 0)
                backoff.reset()
                reconnects.succeeded()
                guard let claimed else {
                    nextLook = .now + (mayClaim ? shared.configuration.pollInterval : .zero)
                    continue
                }
                switch poll.claimed(claimed, of: room, at: shared.uptime) {
                case .now: nextLook = .now
                case .after(let pause): nextLook = .now + pause
                case .arm:
                    try await shared.control.execute(Statement("select errand.set_wake_flag_v1(true)"))
                    nextLook = .now
                }
            } catch {
                reconnects.failed(with: error)
                await recover(from: error, pause: &backoff)
            }
        }
    }

    func ended(_ settlement: Settlement) {
        state.withLock { $0.ended.append(settlement) }
        signal.raise()
    }

    func wake() {
        state.withLock { $0.wasWoken = true }
        signal.raise()
    }

    /// An attempt was dropped: its slot is free, and there is no end to write.
    func dropped() {
        state.withLock { $0.running -= 1 }
        signal.raise()
    }

    /// Whether an end under this worker id is still to be written.
    func owes(_ workerID: Int64) -> Bool {
        state.withLock { state in state.isWriting || state.ended.contains { $0.job.workerID == workerID } }
    }

    var marks: [Int64] { state.withLock(\.mark.published) }

    func begin(at marks: [Int64]?) { state.withLock { $0.mark = LowWaterMark(startingAt: marks) } }

    /// Looks below the marks for jobs that they hide; see ``LowWaterMark``.
    func lookBelowMarks() async throws {
        let starts = state.withLock(\.mark.starts)
        guard starts.contains(where: { $0 > 0 }) else { return }
        let rows = try await shared.control.query(
            Statement("select errand.lowest_waiting_v1($1, $2, $3)", [queue, shared.kinds, starts]))
        let lowest = try rows.scalar([Int64?].self)
        for (lane, line) in lowest.enumerated() {
            guard let line else { continue }
            state.withLock { $0.mark.sweep(priority: lane + 1, from: line - 1) }
        }
    }
}

// MARK: - One round trip
extension ClaimLoop {
    private func takeEnded() -> ([Settlement], running: Int, wasWoken: Bool) {
        state.withLock { state in
            let ended = state.isolates ? Array(state.ended.prefix(1)) : state.ended
            state.ended.removeFirst(ended.count)
            state.running -= ended.count
            state.isWriting = !ended.isEmpty
            state.isolates = state.isolates && !state.ended.isEmpty
            defer { state.wasWoken = false }
            return (ended, state.running, state.wasWoken)
        }
    }

    /// Writes the ends and claims up to `limit` jobs; answers how many came, nil where nothing was asked or read.
    private func roundTrip(ended: [Settlement], limit: Int) async throws -> Int? {
        let workerID = shared.identity.current
        var statements = Settlement.statements(for: ended)
        let writes = statements.count
        if let release = Settlement.release(after: ended) { statements.append(release) }
        let claim = limit > 0 ? workerID.map { nextClaim(workerID: $0, limit: limit, isDurable: !ended.isEmpty) } : nil
        if let claim { statements.append(claim.statement) }
        guard !statements.isEmpty else { return nil }
        let start = ContinuousClock.now
        var answers: [Rows]
        do {
            answers = try await shared.claims.pipeline(statements)
        } catch {
            giveBack(ended, isRejected: !error.isTransient && !error.isOutcomeUnknown)
            if error.isOutcomeUnknown, claim != nil, let workerID { shared.identity.doubt(workerID) }
            throw error
        }
        let claimed = try claim.map { try $0.answer(answers.removeLast()) }
        let took: Duration = .now - start
        try written(ended, refused: answers.prefix(writes))
        if let claimed { metrics?.claimed(claimed.jobs.count, took: took) }
        shared.configuration.onRoundTrip?(
            RoundTrip(finished: ended.count, claimed: claimed?.jobs.count ?? 0, took: took))
        guard let claimed, let observation = claimed.observation else { return nil }
        state.withLock { state in
            state.mark.observe(observation, at: shared.uptime)
            state.running += claimed.jobs.count
        }
        begin(claimed.jobs)
        return claimed.jobs.count
    }

    private func nextClaim(workerID: Int64, limit: Int, isDurable: Bool) -> Claim {
        state.withLock { state in
            state.claims += 1
            // One claim in sixteen reads the priorities in reverse, so that the lowest is never starved for ever.
            let lanes = state.claims % 16 == 0 ? [4, 3, 2, 1] : [1, 2, 3, 4]
            return Claim(
                queue: queue, kinds: shared.kinds, workerID: workerID, limit: limit, starts: state.mark.starts,
                lanes: lanes, isDurable: isDurable)
        }
    }

    private func written(_ ended: [Settlement], refused answers: ArraySlice<Rows>) throws {
        state.withLock { $0.isWriting = false }
        guard !ended.isEmpty else { return }
        let refused = Set(try answers.flatMap { try $0.scalar([Int64].self) })
        let kept = refused.isEmpty ? ended : ended.filter { !refused.contains($0.job.id) }
        shared.counts.add(kept)
        shared.metrics?.ended(kept)
        shared.configuration.onEnds?(kept.map(AttemptEnd.init))
        for id in refused.sorted() {
            shared.logger.warning(
                "late end not written: the job was cancelled, or its lease was lost", metadata: ["job_id": "\(id)"])
        }
    }

    private func giveBack(_ ended: [Settlement], isRejected: Bool) {
        state.withLock { state in
            state.running += ended.count
            state.isWriting = false
            if isRejected, ended.count == 1 {
                // Alone, and still refused: it can't be written as it is. Its reason can.
                var settlement = ended[0]
                settlement.ending = .failed(error: "its end could not be written: \(settlement.outcome) was refused")
                state.ended.insert(settlement, at: 0)
            } else {
                state.ended.insert(contentsOf: ended, at: 0)
            }
            state.isolates = isRejected
        }
    }

    private func recover(from error: any Error, pause: inout Backoff) async {
        var random = SystemRandomNumberGenerator()
        let pause = pause.next(using: &random)
        shared.logger.warning(
            "claiming is interrupted",
            metadata: ["queue": "\(queue)", "error": "\(error)", "again_in": "\(pause)"])
        // Where the database went away another one may have taken its place: what was known of its lines is void.
        begin(at: nil)
        await signal.wait(atMost: pause)
    }
}

// MARK: - Starting
extension ClaimLoop {
    private func begin(_ jobs: [ClaimedJob]) {
        guard !jobs.isEmpty else { return }
        let now = ContinuousClock.now
        let attempts = jobs.map { job in
            Attempt(
                job, entry: shared.handlers[job.kind],
                context: JobContext(job: job, worker: shared, control: AttemptControl()), startedAt: now, loop: self)
        }
        shared.running.insert(attempts)
        AttemptStarter(attempts).start { [shared] attempt in
            let settlement = await attempt.run()
            if shared.running.remove(attempt) { attempt.loop.ended(settlement) }
        }
    }
}
