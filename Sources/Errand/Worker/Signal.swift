import Synchronization

/// A bell for one waiter: rings that come while nobody waits are kept, as one.
final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var waiter: (id: UInt64, continuation: CheckedContinuation<Bool, Never>)?
        var nextID: UInt64 = 0
        /// The wait whose limit passed before it had begun.
        var expired: UInt64 = 0
    }

    private let state = Mutex(State())

    func raise() {
        let waiter = state.withLock { state in
            let waiter = state.waiter
            state.waiter = nil
            state.isRaised = waiter == nil
            return waiter
        }
        waiter?.continuation.resume(returning: true)
    }

    /// Returns at the next ring, or after `limit`; at once if it rang since the last wait. True if it rang.
    @discardableResult
    func wait(atMost limit: Duration? = nil) async -> Bool {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let alarm = limit.map { limit in
            Task {
                try await Task.sleep(for: limit)
                expire(id)
            }
        }
        let rang = await withCheckedContinuation { continuation in
            let (isOver, isRaised) = state.withLock { state in
                let isRaised = state.isRaised
                let isOver = isRaised || state.expired == id
                state.isRaised = false
                if !isOver { state.waiter = (id, continuation) }
                return (isOver, isRaised)
            }
            if isOver { continuation.resume(returning: isRaised) }
        }
        alarm?.cancel()
        return rang
    }

    private func expire(_ id: UInt64) {
        let waiter = state.withLock { state in
            guard state.waiter?.id == id else {
                state.expired = id
                return nil as CheckedContinuation<Bool, Never>?
            }
            let waiter = state.waiter
            state.waiter = nil
            return waiter?.continuation
        }
        waiter?.resume(returning: false)
    }
}
