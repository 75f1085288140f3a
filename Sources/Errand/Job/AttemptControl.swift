import Postgres
import Synchronization

/// Stops one attempt, and holds its state while it runs.
package final class AttemptControl: Sendable {
    private struct State {
        var interruption: Interruption?
        var task: Task<Void, Never>?
        var begunAt: ContinuousClock.Instant?
        var isCommitting = false
        var committed: Completion?
        var steps: [String: JSONB?]?
        var group: ChunkGroup?
    }

    private let state = Mutex(State())

    package init() {}

    package var interruption: Interruption? { state.withLock { $0.interruption } }

    /// When the attempt began; nil while it waits for a slot.
    var begunAt: ContinuousClock.Instant? { state.withLock(\.begunAt) }

    func begin(at now: ContinuousClock.Instant) { state.withLock { $0.begunAt = now } }

    /// The chunk that it has begun with; nil for one that runs alone.
    var group: ChunkGroup? { state.withLock(\.group) }

    func begin(in group: ChunkGroup, at now: ContinuousClock.Instant) {
        state.withLock { state in
            state.group = group
            state.begunAt = now
        }
    }

    /// Whether the handler's transaction completes the job, or has completed it. The transaction is fenced itself, so
    /// the attempt holds no lease any more, and the job may run again before the attempt's task has ended.
    var isCommitting: Bool {
        get { state.withLock(\.isCommitting) }
        set { state.withLock { $0.isCommitting = newValue } }
    }

    /// The completion that was committed together with the handler's writes; nil while there is none.
    var committed: Completion? {
        get { state.withLock { $0.committed } }
        set { state.withLock { $0.committed = newValue } }
    }

    /// What the job's steps have returned, by name, as far as this attempt knows; nil before its first step.
    var steps: [String: JSONB?]? { state.withLock(\.steps) }

    /// Adds steps that are on record. Those that the attempt knows stay as they are.
    func add(_ steps: [String: JSONB?]) {
        state.withLock { $0.steps = steps.merging($0.steps ?? [:]) { _, known in known } }
    }

    /// Sets the task that runs the attempt. Cancels that task if the attempt was interrupted before.
    package func attach(_ task: Task<Void, Never>) {
        let isInterrupted = state.withLock { state in
            state.task = task
            return state.interruption != nil
        }
        if isInterrupted { task.cancel() }
    }

    /// Asks the attempt to stop. Only the first reason is stored.
    package func interrupt(_ interruption: Interruption) {
        let task = state.withLock { state in
            state.interruption = state.interruption ?? interruption
            return state.task
        }
        task?.cancel()
    }
}
