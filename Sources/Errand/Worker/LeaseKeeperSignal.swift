import Synchronization

/// Wakes the lease keeper, which looks at what runs ten times a second, and rests while nothing does.
final class LeaseKeeperSignal: Sendable {
    /// What has happened since the last wait.
    struct Events {
        /// Something began to run.
        var hasBegun = false
        /// Ops may have cancelled something: a heartbeat is to come at once.
        var needsHeartbeat = false
    }

    private struct State {
        var isResting = false
        var events = Events()
    }

    private let signal = Signal()
    private let state = Mutex(State())

    /// Ops may have cancelled something: a heartbeat is to come at once.
    func requestHeartbeat() {
        state.withLock { $0.events.needsHeartbeat = true }
        signal.raise()
    }

    /// Something runs now, or the worker has stopped. Wakes the keeper only from its rest.
    func notifyBegun() {
        let wasResting = state.withLock { state in
            defer { state.isResting = false }
            state.events.hasBegun = true
            return state.isResting
        }
        if wasResting { signal.raise() }
    }

    /// Returns after `limit` or at a request; while it rests at ``notifyBegun()`` too, also if that came just before.
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
