import Foundation
import Synchronization

/// Watches the queues' loops on a thread of its own, which runs even if handlers block all of Swift's threads.
final class WatchdogThread: Sendable {
    private let shared: WorkerState
    private let queues: [QueueState]
    private let pulses = Atomic<Int>(0)
    private let isStopped = Atomic<Bool>(false)

    init(shared: WorkerState, queues: [QueueState]) {
        self.shared = shared
        self.queues = queues
    }

    /// Watches until ``stop()``, or until something hangs, which it reports once.
    func start() {
        guard let onStandstill = shared.configuration.onStandstill else { return }
        Thread.detachNewThread { [self] in
            if let reason = standstill() { onStandstill(reason) }
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func standstill() -> String? {
        var watchdog = Watchdog(
            lease: shared.configuration.lease,
            statementTimeout: shared.environment.database.configuration.statementTimeout)
        while !isStopped.load(ordering: .relaxed) {
            Task { pulses.add(1, ordering: .relaxed) }
            Thread.sleep(forTimeInterval: watchdog.interval / .seconds(1))
            if let reason = watchdog.check(sample, at: shared.uptime) { return reason }
        }
        return nil
    }

    private var sample: Watchdog.Sample {
        Watchdog.Sample(
            pulses: pulses.load(ordering: .relaxed), heartbeats: shared.heartbeats.load(ordering: .relaxed),
            loops: Dictionary(uniqueKeysWithValues: queues.map { ($0.name, $0.sample) }))
    }
}
