import Synchronization
import Waiting

/// Wakes the lease keeper, which checks running attempts ten times a second, and rests while nothing runs.
final class AttemptWatch: Sendable {
    /// What has happened since the last wait.
    struct Events {
        /// Something began to run.
        var hasBegun = false
        /// A job may have been cancelled: a heartbeat is needed at once.
        var needsHeartbeat = false
    }

    private struct State {
        var isResting = false
        var events = Events()
    }

    private let signal = Signal()
    private let state = Mutex(State())

    /// A job may have been cancelled: a heartbeat is needed at once.
    func requestHeartbeat() {
        state.withLock { $0.events.needsHeartbeat = true }
        signal.raise()
    }

    /// Jobs were claimed, or the worker has stopped. Wakes the keeper only from its rest.
    func notifyBegun() {
        let wasResting = state.withLock { state in
            defer { state.isResting = false }
            state.events.hasBegun = true
            return state.isResting
        }
        if wasResting { signal.raise() }
    }

    /// Waits for `limit` or a request. While resting, ``notifyBegun()`` also ends the wait, even if it came just
    /// before.
    func wait(atMost limit: Duration, resting: Bool) async -> Events {
        let isOver = state.withLock { state in
            state.isResting = resting && !state.events.hasBegun
            return resting && state.events.hasBegun
        }
        if !isOver { await signal.wait(atMost: limit) }
        return state.withLock { state in
            defer { state = State() }
            return state.events
        }
    }
}
