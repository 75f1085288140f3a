import Synchronization
import Waiting

/// How idle a worker is, and whether wake-ups arrive: ``IdlePollingPolicy`` under a lock.
final class IdleState: Sendable {
    let policy: Mutex<IdlePollingPolicy>
    /// Raised when a queue has fallen asleep, or a probe may be due.
    let changed = Signal()
    private let listening = Atomic<Bool>(false)

    init(pollInterval: Duration) { policy = Mutex(IdlePollingPolicy(interval: pollInterval)) }

    /// Whether wake-ups arrive.
    var listens: Bool { listening.load(ordering: .relaxed) }

    func set(listens: Bool) { listening.store(listens, ordering: .relaxed) }

    /// Whether enqueues send a NOTIFY, so that no claim is needed before a wake-up.
    var isArmed: Bool { listens && policy.withLock(\.isArmed) }

    /// A job is due after this delay at the latest.
    func expects(workIn delay: Duration) { policy.withLock { $0.expects(workAt: .uptime + delay) } }
}
