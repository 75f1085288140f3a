import Synchronization

/// Rings for the lease keeper, which looks at what runs ten times a second, and rests while nothing does.
final class KeeperBell: Sendable {
    /// What has happened since the last wait.
    struct News {
        /// Something began to run.
        var stirred = false
        /// Ops may have cancelled something: a beat is to come at once.
        var hurries = false
    }

    private struct State {
        var isResting = false
        var news = News()
    }

    private let signal = Signal()
    private let state = Mutex(State())

    /// Ops may have cancelled something: a beat is to come at once.
    func hurry() {
        state.withLock { $0.news.hurries = true }
        signal.raise()
    }

    /// Something runs now, or the worker has stopped: there is no rest any more.
    func stir() {
        let wasResting = state.withLock { state in
            defer { state.isResting = false }
            state.news.stirred = true
            return state.isResting
        }
        if wasResting { signal.raise() }
    }

    /// Returns after `limit` or at a ring; while it rests ``stir()`` rings too, also where it came just before.
    func wait(atMost limit: Duration, resting: Bool) async -> News {
        let isOver = state.withLock { state in
            state.isResting = resting && !state.news.stirred
            return resting && state.news.stirred
        }
        if !isOver { await signal.wait(atMost: limit) }
        return state.withLock { state in
            defer { state = State() }
            return state.news
        }
    }
}
