import Synchronization
import Waiting

/// The state of one queue of a worker: its claims, its slots and its completions.
///
/// One lock guards all three, because a completed attempt frees its slot and adds its completion in one step. So a
/// stopping worker never misses a completion in between, and a job costs one lock at its start and one at its end.
final class QueueState: Sendable {
    let name: String
    let shared: WorkerState
    let metrics: QueueMetrics?
    /// Nil if the queue has its slots for itself.
    let share: SlotShare?
    /// Raised when an attempt has completed, when a job may be due, and when the worker stops.
    let work = Signal()
    /// Raised when there is enough for a second connection.
    let backlog = Signal()
    /// The iterations of the first connection's loop.
    let iterations = Atomic<Int>(0)

    struct State {
        var claims = ClaimPlan()
        var slots: Slots
        var completions = CompletionBuffer()
        /// Whether the first connection's loop waits for something to do, for the database, or after a failure.
        var isResting = false
        /// When the first connection's statement was sent; nil if it waits for no reply.
        var askingSince: ContinuousClock.Instant?
        var isBackingOff = false
    }

    /// Only for the extensions of this type. Related changes are made under one lock.
    let state: Mutex<State>

    init(name: String, slots: Int, shared: WorkerState) {
        self.name = name
        self.shared = shared
        metrics = shared.metrics?[name]
        share = shared.sharesSlots ? shared.capacity[name]?.join(waking: shared.sharesChanged) : nil
        state = Mutex(State(slots: Slots(count: share == nil ? slots : 0)))
    }

    /// Counts jobs that the queue holds, for itself and for the worker: those that a claim asks for, and claimed ones
    /// until their outcomes are written.
    func reserve(_ jobs: Int, _ state: inout State) {
        state.slots.reserve(jobs)
        shared.capacity.held.add(jobs, ordering: .relaxed)
    }

    /// The queue no longer holds so many jobs.
    func release(_ jobs: Int, _ state: inout State) { reserve(-jobs, &state) }

    /// The most jobs that a claim may ask for now.
    func room(_ state: borrowing State) -> Int {
        guard !shared.isStopping, !shared.capacity.crashedJobs.runsAlone else { return 0 }
        return state.slots.room(
            batch: shared.configuration.batch,
            heldByOthers: shared.capacity.held.load(ordering: .relaxed) - state.slots.held)
    }
}

// MARK: - Waking
extension QueueState {
    /// A job may be due, or the worker stops: the queue claims once, and goes on while claims return their full limit.
    func wake() {
        state.withLock { $0.claims.wake() }
        work.raise()
    }

    /// A claim returned fewer jobs than its limit. Returns whether the queue stays awake, because a wake-up has come
    /// meanwhile.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.claims.fallAsleep()
            return state.claims.isAwake
        }
    }

    var isAwake: Bool { state.withLock(\.claims.isAwake) }

    /// Whether the queue may claim now. A queue without a free slot is awake, but doesn't claim.
    var isClaiming: Bool { state.withLock { $0.claims.isAwake && room($0) > 0 } }

    /// Whether positions are scanned ahead before the next claim.
    var scansAhead: Bool { state.withLock(\.claims.scansAhead) }

    /// Whether completions are written without claims, since a claim was refused.
    var isRefused: Bool { state.withLock(\.claims.isRefused) }
}

// MARK: - Marks
extension QueueState {
    /// Marks to store for other workers: ``LowWaterMark/stored``.
    var marks: [Int64] { state.withLock(\.claims.stored) }

    /// Adopts marks that another worker of the same kinds has published.
    func catchUp(with marks: [Int64]) { state.withLock { $0.claims.catchUp(with: marks) } }

    /// Resets the marks, and starts at those that another worker has published, if any.
    func restart(at marks: [Int64]?) { state.withLock { $0.claims.restart(at: marks) } }

    /// The positions behind which its next claim reads.
    var starts: [Int64] { state.withLock { $0.claims.starts(of: .first) } }

    /// The next scan for jobs below the marks.
    var nextScan: LowWaterMark.Scan { state.withLock(\.claims.nextScan) }

    /// Takes the lowest waiting position below each mark, nil if there is none.
    func found(_ lowest: [Int64?], by scan: LowWaterMark.Scan) {
        state.withLock { $0.claims.found(lowest, by: scan) }
        if lowest.contains(where: { $0 != nil }) { wake() }
    }
}

// MARK: - What others ask
extension QueueState {
    /// Jobs that are claimed or being claimed, and writes of outcomes in progress.
    var inFlight: Int { state.withLock { $0.slots.held + $0.completions.writes } }

    /// Whether an outcome under this worker id is still to be written.
    func hasUnwritten(_ workerID: Int64) -> Bool { state.withLock { $0.completions.hasUnwritten(workerID) } }

    /// All jobs that have ended and whose outcomes are not written.
    var unwritten: [ClaimedJob] { state.withLock(\.completions.jobs) }

    /// For the watchdog, which must never block.
    var sample: (iterations: Int, phase: Watchdog.Phase) {
        let phase = state.withLockIfAvailable { state -> Watchdog.Phase in
            if state.isBackingOff { return .idle }
            if state.askingSince != nil { return .asking }
            guard state.isResting else { return .due }
            let claims = state.claims.isAwake && room(state) > 0 && state.claims.delay(at: .now) == nil
            return claims || !state.completions.isEmpty ? .due : .idle
        }
        // The lock is usually held for a moment. A lock that is never released is a standstill.
        return (iterations.load(ordering: .relaxed), phase ?? .due)
    }
}
