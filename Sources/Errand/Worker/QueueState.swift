import Synchronization

/// What a worker knows of one of its queues: its claims, its slots and its completions.
///
/// One lock is over all three, since an attempt that ends frees its slot and leaves its completion in one step. So a
/// worker that stops never takes all for written in between, and a job costs one lock at its start and one at its end.
final class QueueState: Sendable {
    let name: String
    let shared: WorkerState
    let metrics: QueueMetrics?
    /// Raised when an attempt has ended, when something may be due, and when the worker stops.
    let work = Signal()
    /// Raised when there is enough for a second connection.
    let deep = Signal()
    /// How often the first connection's loop has turned.
    let turns = Atomic<Int>(0)

    struct State {
        var claims = ClaimPlan()
        var slots: Slots
        var completions = CompletionBuffer()
        /// Whether the first connection's loop waits for something to do, for the database, or after a failure.
        var isResting = false
        var isAsking = false
        var isBackingOff = false
    }

    /// For the extensions of this type alone. What changes together changes within one lock of it.
    let state: Mutex<State>

    init(name: String, slots: Int, shared: WorkerState) {
        self.name = name
        self.shared = shared
        metrics = shared.metrics?[name]
        state = Mutex(State(slots: Slots(count: slots)))
    }

    /// Counts jobs that the queue holds, for itself and for the worker: those that a claim asks for, and claimed ones
    /// until their outcomes are written.
    func hold(_ jobs: Int, _ state: inout State) {
        state.slots.hold(jobs)
        shared.held.add(jobs, ordering: .relaxed)
    }

    /// The most jobs that a claim may ask for now.
    func room(_ state: borrowing State) -> Int {
        guard !shared.isStopping, !shared.suspects.isOnTrial else { return 0 }
        return state.slots.room(
            batch: shared.configuration.batch,
            heldByOthers: shared.held.load(ordering: .relaxed) - state.slots.held)
    }
}

// MARK: - Waking
extension QueueState {
    /// Something may be due, or the worker stops: the queue claims once, and goes on while it gets all that it asks
    /// for.
    func wake() {
        state.withLock { $0.claims.wake() }
        work.raise()
    }

    /// A claim got less than it asked for. Returns whether the queue claims on, since a wake-up has come meanwhile.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.claims.fallAsleep()
            return state.claims.isAwake
        }
    }

    var isAwake: Bool { state.withLock(\.claims.isAwake) }

    /// Whether it claims just now. One whose slots are all taken is awake, but doesn't.
    var isClaiming: Bool { state.withLock { $0.claims.isAwake && room($0) > 0 } }

    /// Whether positions are scanned ahead before the next claim.
    var scansAhead: Bool { state.withLock(\.claims.scansAhead) }

    /// Whether completions are written without claims, since a claim was refused.
    var isApart: Bool { state.withLock(\.claims.isApart) }
}

// MARK: - Marks
extension QueueState {
    /// Right for other workers too: ``LowWaterMark/stored``.
    var marks: [Int64] { state.withLock(\.claims.stored) }

    /// Adopts what another worker of the same kinds has published.
    func catchUp(with marks: [Int64]) { state.withLock { $0.claims.catchUp(with: marks) } }

    /// Forgets what was known of positions, and begins at what another worker has published, if anything.
    func restart(at marks: [Int64]?) { state.withLock { $0.claims.restart(at: marks) } }

    /// Behind which positions its next claim reads.
    var starts: [Int64] { state.withLock { $0.claims.starts(of: .first) } }

    /// Where to scan for jobs that the marks hide.
    var look: LowWaterMark.Look { state.withLock(\.claims.look) }

    /// The lowest position that waits below each mark, nil where there is none.
    func found(_ lowest: [Int64?], by look: LowWaterMark.Look) {
        state.withLock { $0.claims.found(lowest, by: look) }
        if lowest.contains(where: { $0 != nil }) { wake() }
    }
}

// MARK: - What others ask
extension QueueState {
    /// Jobs that are claimed or being claimed, and writes of outcomes that are under way.
    var unsettled: Int { state.withLock { $0.slots.held + $0.completions.writes } }

    /// Whether an outcome under this worker id is still to be written.
    func owes(_ workerID: Int64) -> Bool { state.withLock { $0.completions.owes(workerID) } }

    /// For the watchdog, which nothing must hold up.
    var sight: (turns: Int, phase: Watchdog.Phase) {
        let phase = state.withLockIfAvailable { state -> Watchdog.Phase in
            if state.isBackingOff { return .idle }
            if state.isAsking { return .asking }
            guard state.isResting else { return .due }
            let claims = state.claims.isAwake && room(state) > 0 && state.claims.delay(at: .now) == nil
            return claims || !state.completions.isEmpty ? .due : .idle
        }
        // Locked for a moment as a rule; where that never ends, it stands still.
        return (turns.load(ordering: .relaxed), phase ?? .due)
    }
}
