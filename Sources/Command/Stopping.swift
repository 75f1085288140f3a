import Foundation
import Synchronization
import UnixSignals

/// SIGTERM and SIGINT: the first asks for a graceful end, the second for one at once.
enum Stopping {
    private static let state = Mutex((isRequested: false, waiters: [CheckedContinuation<Void, Never>]()))

    /// Runs `serving` to its end; signals end it earlier, first gently, then by cancelling it.
    static func run(_ serving: Task<Void, any Error>) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let watching = Task {
            for await _ in signals {
                if request() { serving.cancel() }
            }
        }
        defer { watching.cancel() }
        do {
            try await serving.value
        } catch is CancellationError where state.withLock(\.isRequested) {
            // Ended before it had begun to serve, as it was told to.
        }
    }

    /// Returns at the first signal.
    static func requested() async {
        await withCheckedContinuation { continuation in
            let isRequested = state.withLock { state in
                if !state.isRequested { state.waiters.append(continuation) }
                return state.isRequested
            }
            if isRequested { continuation.resume() }
        }
    }

    /// Notes a signal. True if it is to end the process at once: the second one, or one that came before anybody served.
    private static func request() -> Bool {
        let (isSecond, waiters) = state.withLock { state in
            defer {
                state.isRequested = true
                state.waiters = []
            }
            return (state.isRequested, state.waiters)
        }
        waiters.forEach { $0.resume() }
        return isSecond || waiters.isEmpty
    }
}
