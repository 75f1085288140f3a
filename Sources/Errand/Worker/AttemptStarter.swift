import Foundation
import Synchronization

/// Starts the attempts of one claim, in their order, from as many tasks as there are cores.
///
/// Each attempt has a task of its own, which begins at once on the starter's thread: one that never waits has ended before
/// the next one begins, and no thread is woken for it. One that computes for long holds up a core's starter and no more.
final class AttemptStarter: Sendable {
    private let attempts: [Attempt]
    private let next = Atomic(0)
    private static let cores = max(1, ProcessInfo.processInfo.activeProcessorCount)

    init(_ attempts: [Attempt]) {
        self.attempts = attempts
    }

    /// Returns at once; `run` is called for each attempt.
    func start(_ run: @escaping @Sendable (Attempt) async -> Void) {
        for _ in 0..<min(Self.cores, attempts.count) {
            Task {
                while let attempt = take() {
                    // Not a child of this task: a handler that ignores its cancellation may outlive the worker's stop, and
                    // must not hold it up. `Running` owns it.
                    attempt.control.attach(Task.immediate { await run(attempt) })
                }
            }
        }
    }

    private func take() -> Attempt? {
        let place = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return place < attempts.count ? attempts[place] : nil
    }
}
