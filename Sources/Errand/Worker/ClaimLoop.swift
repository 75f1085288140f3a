import Logging
import Postgres
import Synchronization

/// Claims from one queue and starts what it got; writes ends with the next claim, in one round trip and one commit.
///
/// There is no timer between an end and its write: while one round trip is under way the next group of ends forms. While the
/// line is deep a second connection takes turns with the first, so that the server works on one group while another runs.
final class ClaimLoop: Sendable {
    let queue: String
    let slots: Int
    let shared: WorkerState
    let metrics: QueueMetrics?
    /// Rings when an attempt has ended, when a wake-up came, and when the worker stops.
    let signal = Signal()
    /// Rings when there is enough for a second connection.
    let deep = Signal()
    /// How often the first connection's loop has turned.
    let turns = Atomic<Int>(0)

    /// The two connections of a queue. Each has marks of its own, as two workers have: what a claim proves holds from the
    /// marks on that it began at.
    enum Turn: Int, CaseIterable { case first, second }

    struct State {
        var ended: [Completion] = []
        /// To be written again a moment later, since another session has their jobs locked.
        var postponed: [Completion] = []
        /// How long the next ones are postponed.
        var postponement = ClaimLoop.firstPostponement
        /// Jobs claimed or being claimed whose end isn't taken to be written yet.
        var held = 0
        /// Attempts that run, at most `slots`.
        var running = 0
        /// Claimed, and begun as soon as a slot is free.
        var waiting: ArraySlice<Attempt> = []
        /// Whether the first connection's loop waits for something to do, for the database, or after a failure.
        var isResting = false
        var isAsking = false
        var isBackingOff = false
        /// Tasks that begin what waits.
        var starters = 0
        var ahead = ClaimAhead()
        var marks = [LowWaterMark](repeating: LowWaterMark(), count: Turn.allCases.count)
        /// The last claim got a whole batch.
        var isDeep = false
        var claims = 0
        /// Claims without being told that something is due.
        var isAwake = true
        var wasWoken = false
        /// Writes of ends that are under way.
        var writes = 0
        /// A write failed for a reason of its own: the ends are written one by one, to find the one that it was.
        var isolates = false
        /// A claim failed: until one gets through, ends are written without one.
        var claimsApart = false
        /// No claim before this moment: the last one failed.
        var claimsFrom: ContinuousClock.Instant?
        /// Those that wait for the limits of ended jobs could not be put in line: the ends are written without that, and
        /// housekeeping finds them.
        var omitsRelease = false
        /// The limits of jobs whose outcomes were written without a claim: it is for a claim to take what waits for them.
        var unreleased: Set<String> = []
        /// The last claim has left jobs in line that are claimed only to begin at once: none is claimed ahead.
        var beginsOnly = false
        /// A job that was in two crashes of its worker: it begins when nothing else runs here.
        var trial: Attempt?

        /// Takes outcomes back whose jobs are locked. Returns after which delay all that are postponed are to be written
        /// again; nil where there are none, or where that is planned already.
        mutating func postpone(_ locked: [Completion], atMost longest: Duration) -> Duration? {
            guard !locked.isEmpty else {
                if postponed.isEmpty { postponement = ClaimLoop.firstPostponement }
                return nil
            }
            defer { postponed += locked }
            guard postponed.isEmpty else { return nil }
            defer { postponement = min(postponement * 2, longest) }
            return postponement
        }

        /// Behind which lines a connection's next claim reads. The other one may have been claiming alone for long.
        mutating func starts(of turn: Turn) -> [Int64] {
            for other in Turn.allCases where other != turn {
                marks[turn.rawValue].catchUp(with: marks[other.rawValue].published)
            }
            return marks[turn.rawValue].starts
        }
    }

    let state = Mutex(State())

    init(queue: String, slots: Int, shared: WorkerState) {
        self.queue = queue
        self.slots = slots
        self.shared = shared
        metrics = shared.metrics?[queue]
    }

    /// Runs until the worker stops and every end is written.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await self.assist() }
            await lead()
            deep.raise()
        }
    }

    /// Something may be due, or the worker stops: it claims once, and goes on while it gets all that it asks for.
    func wake() {
        state.withLock { state in
            state.wasWoken = true
            state.isAwake = true
        }
        signal.raise()
    }

    var isAwake: Bool { state.withLock(\.isAwake) }

    /// Whether it claims just now. One whose slots are all taken is awake, but doesn't.
    var isClaiming: Bool { state.withLock { $0.isAwake && room($0) > 0 } }

    /// For the watchdog, whom nothing must hold up.
    var sight: (turns: Int, phase: Watchdog.Phase) {
        let seen = state.withLockIfAvailable { state -> Watchdog.Phase in
            if state.isBackingOff { return .idle }
            if state.isAsking { return .asking }
            guard state.isResting else { return .due }
            let claims = state.isAwake && room(state) > 0 && state.claimsFrom.map { $0 <= .now } ?? true
            return claims || !state.ended.isEmpty ? .due : .idle
        }
        // Locked for a moment as a rule; where that never ends, it stands still.
        return (turns.load(ordering: .relaxed), seen ?? .due)
    }

    /// Jobs that are claimed or being claimed, and writes of outcomes that are under way.
    var unsettled: Int { state.withLock { $0.held + $0.writes } }

    /// Whether an end under this worker id is still to be written.
    func owes(_ workerID: Int64) -> Bool {
        state.withLock { state in
            state.writes > 0 || state.ended.contains { $0.job.workerID == workerID }
                || state.postponed.contains { $0.job.workerID == workerID }
        }
    }
}

// MARK: - Marks
extension ClaimLoop {
    /// Right for other workers too: ``LowWaterMark/stored``.
    var marks: [Int64] {
        state.withLock { state in
            state.marks.dropFirst().reduce(state.marks[0].stored) { zip($0, $1.stored).map(max) }
        }
    }

    /// Takes in what another worker of the same kinds has published.
    func catchUp(with marks: [Int64]) {
        state.withLock { state in
            for turn in Turn.allCases { state.marks[turn.rawValue].catchUp(with: marks) }
        }
    }

    /// Forgets what was known of the line, and begins at what another worker has published, if anything.
    func begin(at marks: [Int64]?) {
        state.withLock { state in
            for turn in Turn.allCases { state.marks[turn.rawValue] = LowWaterMark() }
        }
        if let marks { catchUp(with: marks) }
    }

    /// Behind which lines its next claim reads.
    var starts: [Int64] { state.withLock { $0.starts(of: .first) } }

    /// Where to look for jobs that the marks hide.
    var look: LowWaterMark.Look { state.withLock(\.marks[Turn.first.rawValue].look) }

    /// The lowest line that waits below each mark, nil where there is none.
    func found(_ lowest: [Int64?], by look: LowWaterMark.Look) {
        state.withLock { $0.marks[Turn.first.rawValue].found(lowest, by: look) }
        if lowest.contains(where: { $0 != nil }) { wake() }
    }
}

// MARK: - Turns
extension ClaimLoop {
    /// The first connection's loop: whatever is due, however little.
    private func lead() async {
        var backoff = Backoff()
        var reconnects = ReconnectCount(shared.metrics?.reconnects(of: "claim"))
        while true {
            turns.add(1, ordering: .relaxed)
            let task = takeTask()
            if task.isNothing {
                if task.isLast {
                    state.withLock { $0.isResting = true }
                    return
                }
                state.withLock { $0.isResting = true }
                await signal.wait(atMost: task.claimsIn)
                state.withLock { $0.isResting = false }
                continue
            }
            do {
                let claimed = try await roundTrip(task, on: .first)
                // A write alone says nothing of claims that fail.
                if !claimsApart { backoff.reset() }
                reconnects.succeeded()
                if let claimed, claimed > 0 { shared.doze.withLock { $0.worked(at: shared.uptime) } }
                // Also where nothing could be asked, since the queue is paused or the lease is lost: it is told when it can.
                if task.limit > 0, claimed != task.limit { fallAsleep() }
            } catch {
                reconnects.failed(with: error)
                await recover(from: error, pause: &backoff, at: signal)
            }
        }
    }

    /// The second connection's loop: large groups only, as long as there are any.
    private func assist() async {
        var backoff = Backoff()
        while true {
            await deep.wait()
            if shared.isStopping { return }
            // A new worker reads over all that is gone and not yet vacuumed, once. Were both connections to do that at the same
            // time, each would take the other's claim for a slow writer and go back for what it may have left.
            guard marks.contains(where: { $0 > 0 }) else { continue }
            do {
                while let task = takeLargeTask() {
                    _ = try await roundTrip(task, on: .second)
                    backoff.reset()
                }
            } catch {
                await recover(from: error, pause: &backoff, at: deep)
            }
            // Whoever stops waits for what this has written.
            signal.raise()
        }
    }

    private func fallAsleep() {
        let isAwake = state.withLock { state in
            // A wake-up may have come since.
            state.isAwake = state.wasWoken
            return state.isAwake
        }
        if !isAwake { shared.dozed.raise() }
    }

    private func recover(from error: any Error, pause: inout Backoff, at bell: Signal) async {
        let pause = pause.next()
        shared.logger.warning(
            "claiming is interrupted",
            metadata: ["queue": "\(queue)", "error": "\(error)", "again_in": "\(pause)"])
        // Where the database went away another one may have taken its place: what was known of its lines is void. A statement
        // that took too long was ended by the same server. To read from line 0 on again, over all that a held snapshot keeps
        // from being vacuumed, would take longer still, each time.
        if (error as? PostgresError)?.sqlState != "57014" { begin(at: nil) }
        let isWrittenMeanwhile = state.withLock { state in
            state.isBackingOff = true
            state.isAwake = true
            if state.claimsApart { state.claimsFrom = .now + pause }
            return state.claimsApart
        }
        if !isWrittenMeanwhile { await bell.wait(atMost: pause) }
        state.withLock { $0.isBackingOff = false }
    }

    private var claimsApart: Bool { state.withLock(\.claimsApart) }
}

// MARK: - What there is to do
extension ClaimLoop {
    /// What one round trip is to do.
    struct RoundTripTask {
        var ended: [Completion] = []
        /// The most jobs to claim, for which there is room; 0 claims none.
        var limit = 0
        /// How many of them begin at once.
        var beginsNow = 0
        /// How long claims still wait after one that failed; nil where they don't.
        var claimsIn: Duration?
        /// Without putting those in line that wait for the limits of ended jobs.
        var omitsRelease = false
        /// The worker stops, and this queue has nothing left to write.
        var isLast = false

        var isNothing: Bool { ended.isEmpty && limit == 0 }
    }

    private func takeTask() -> RoundTripTask {
        let isArmed = shared.isArmed
        return state.withLock { state in
            let ended = takeEnded(&state)
            let claimsIn = state.claimsFrom.map { $0 - .now }.flatMap { $0 > .zero ? $0 : nil }
            let claims =
                claimsIn == nil
                && (ended.isEmpty
                    ? state.isAwake : !state.claimsApart && (!isArmed || mayClaimBehind(ended, state)))
            let beginsNow = max(0, slots - state.held)
            let limit = claims ? room(state) : 0
            hold(limit, &state)
            if limit > 0 { state.wasWoken = false }
            return RoundTripTask(
                ended: ended, limit: limit, beginsNow: beginsNow, claimsIn: claimsIn,
                omitsRelease: takeOmission(&state),
                isLast: shared.isStopping && state.held == 0 && state.writes == 0)
        }
    }

    /// Whether a claim behind these outcomes may find a job that no wake-up announces.
    private func mayClaimBehind(_ ended: [Completion], _ state: borrowing State) -> Bool {
        if state.isAwake { return true }
        if state.beginsOnly { return true }
        return state.unreleased.isEmpty ? ended.contains(where: \.mayLeaveDueJob) : true
    }

    /// Nil where the first connection is enough.
    private func takeLargeTask() -> RoundTripTask? {
        state.withLock { state in
            let limit = room(state)
            guard state.isDeep, !state.isolates, !state.claimsApart, limit >= largeClaim else { return nil }
            let beginsNow = max(0, slots - state.held)
            hold(limit, &state)
            return RoundTripTask(
                ended: takeEnded(&state), limit: limit, beginsNow: beginsNow, omitsRelease: takeOmission(&state))
        }
    }

    /// From how many jobs on a claim is worth a connection of its own.
    var largeClaim: Int { max(1, shared.configuration.batch / 4) }

    private func room(_ state: borrowing State) -> Int {
        guard !shared.isStopping, !shared.suspects.isOnTrial else { return 0 }
        let batch = shared.configuration.batch
        let others = shared.held.load(ordering: .relaxed) - state.held
        let most = ClaimAhead.most(batch: batch, heldByOthers: others)
        let ahead = state.beginsOnly ? 0 : state.ahead.count(slots: slots, atMost: most)
        return max(0, min(slots + ahead - state.held, batch))
    }

    /// Counts jobs that the queue holds: those that a claim asks for, and claimed ones until their outcomes are written.
    func hold(_ count: Int, _ state: inout State) {
        state.held += count
        shared.held.add(count, ordering: .relaxed)
    }

    private func takeOmission(_ state: inout State) -> Bool {
        defer { state.omitsRelease = false }
        return state.omitsRelease
    }

    private func takeEnded(_ state: inout State) -> [Completion] {
        let ended = state.isolates ? Array(state.ended.prefix(1)) : state.ended
        guard !ended.isEmpty else { return [] }
        state.ended.removeFirst(ended.count)
        hold(-ended.count, &state)
        state.writes += 1
        state.isolates = state.isolates && !state.ended.isEmpty
        // One that was handed back tells nothing of how long jobs take.
        let ran = ended.lazy.filter { $0.outcome != .released }
        state.ahead.ended(ran.count, tookTogether: ran.map(\.took).reduce(.zero, +))
        return ended
    }
}
