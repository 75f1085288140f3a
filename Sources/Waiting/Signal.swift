import Dispatch
import Synchronization

/// Wakes one waiter. Raises without a waiter are remembered as one.
package final class Signal: Sendable {
    private struct State {
        var isRaised = false
        /// The task that waits, or is about to.
        var current: UInt64?
        var waiters = Waiters<Bool>()
    }

    private let state = Mutex(State())
    /// Not `Task.sleep`: its timers need one of Swift's shared threads, which handlers may block.
    private static let alarms = DispatchQueue(label: "errand.alarms")

    package init() {}

    package func raise() {
        let waiter = state.withLock { state in
            guard let current = state.current.take() else {
                state.isRaised = true
                return nil as Waiters<Bool>.Continuation?
            }
            return state.waiters.wake(current, with: true)
        }
        waiter?.resume(returning: true)
    }

    /// Waits until the signal is raised, or for `limit`. Returns at once if it was raised since the last wait. Returns
    /// whether it was raised.
    @discardableResult
    package func wait(atMost limit: Duration? = nil) async -> Bool {
        guard let id = begin() else { return true }
        let alarm = limit.map { limit in
            let alarm = DispatchWorkItem { [self] in expire(id) }
            Self.alarms.asyncAfter(deadline: .now() + limit / .seconds(1), execute: alarm)
            return alarm
        }
        defer { alarm?.cancel() }
        return await withCheckedContinuation { continuation in
            let early = state.withLock { $0.waiters.sleep(id, as: continuation) }
            if let early { continuation.resume(returning: early) }
        }
    }

    /// Nil if it was raised already.
    private func begin() -> UInt64? {
        state.withLock { state in
            if state.isRaised {
                state.isRaised = false
                return nil
            }
            let id = state.waiters.add()
            state.current = id
            return id
        }
    }

    private func expire(_ id: UInt64) {
        let waiter = state.withLock { state in
            guard state.current == id else { return nil as Waiters<Bool>.Continuation? }
            state.current = nil
            return state.waiters.wake(id, with: false)
        }
        waiter?.resume(returning: false)
    }
}
