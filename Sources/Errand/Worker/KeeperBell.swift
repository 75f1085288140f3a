import Synchronization

/// Rings for the lease keeper, which looks at what runs ten times a second, and rests while nothing does.
final class KeeperBell: Sendable {
    private struct State {
        var isResting = false
        var hurries = false
    }

    private let signal = Signal()
    private let state = Mutex(State())

    /// Ops may have cancelled something: a beat is to come at once.
    func hurry() {
        state.withLock { $0.hurries = true }
        signal.raise()
    }

    /// Something runs now, or the worker has stopped: there is no rest any more.
    func stir() {
        let wasResting = state.withLock { state in
            defer { state.isResting = false }
            return state.isResting
        }
        if wasResting { signal.raise() }
    }

    /// Returns after `limit` or at a ring, at that of ``stir()`` only where it rests; true if a beat is to come at once.
    func wait(atMost limit: Duration, resting: Bool) async -> Bool {
        state.withLock { $0.isResting = resting }
        await signal.wait(atMost: limit)
        return state.withLock { state in
            defer { state = State() }
            return state.hurries
        }
    }
}
