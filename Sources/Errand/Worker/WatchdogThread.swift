import Foundation
import Synchronization
import Waiting

/// Watches the queues' loops on a thread of its own, which runs even if handlers block all of Swift's threads.
final class WatchdogThread: Sendable {
    private let environment: ClaimEnvironment
    private let queues: [QueueClaims]
    private let pulses = Atomic<Int>(0)
    private let isStopped = Atomic<Bool>(false)

    init(environment: ClaimEnvironment, queues: [QueueClaims]) {
        self.environment = environment
        self.queues = queues
    }

    /// Watches until ``stop()``, or until something hangs, which it reports once.
    func start() {
        guard let onStandstill = environment.configuration.onStandstill else { return }
        Thread.detachNewThread { [self] in
            if let reason = standstill() { onStandstill(reason) }
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func standstill() -> String? {
        var watchdog = Watchdog(
            lease: environment.configuration.lease,
            statementTimeout: environment.connections.handlers.configuration.statementTimeout)
        while !isStopped.load(ordering: .relaxed) {
            Task { pulses.add(1, ordering: .relaxed) }
            Thread.sleep(forTimeInterval: watchdog.interval / .seconds(1))
            if let reason = watchdog.check(sample, at: .uptime) { return reason }
        }
        return nil
    }

    private var sample: Watchdog.Sample {
        Watchdog.Sample(
            pulses: pulses.load(ordering: .relaxed),
            heartbeats: environment.identity.heartbeats.load(ordering: .relaxed),
            loops: Dictionary(
                uniqueKeysWithValues: queues.map { queue in
                    (queue.name, (queue.iterations.load(ordering: .relaxed), phase(of: queue)))
                }))
    }

    /// Must never block. A lock is usually held for a moment, and one that is never released is a standstill.
    private func phase(of queue: QueueClaims) -> Watchdog.Phase {
        switch queue.phase.withLockIfAvailable(\.self) {
        case .backingOff: .idle
        case .asking: .asking
        case .resting: queue.hasWork ?? true ? .due : .idle
        case .working, nil: .due
        }
    }
}
