import Synchronization

/// When a scheduler has read the schedules.
final class SchedulerReads: Sendable {
    private let instant = Mutex<ContinuousClock.Instant?>(nil)

    var last: ContinuousClock.Instant? { instant.withLock { $0 } }

    func add() { instant.withLock { $0 = .now } }
}
