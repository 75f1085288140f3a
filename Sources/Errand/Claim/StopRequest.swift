import Synchronization
import Waiting

/// Whether a worker was asked to stop: then it no longer claims.
final class StopRequest: Sendable {
    private let wasMade = Atomic<Bool>(false)
    private let wasForced = Atomic<Bool>(false)
    private let signal = Signal()

    var isMade: Bool { wasMade.load(ordering: .acquiring) }

    /// Whether running jobs get no grace period.
    var isForced: Bool { wasForced.load(ordering: .acquiring) }

    func make(force: Bool = false) {
        if force { wasForced.store(true, ordering: .releasing) }
        wasMade.store(true, ordering: .releasing)
        signal.raise()
    }

    /// Waits for the first request, or the next one.
    func wait(atMost limit: Duration? = nil) async { await signal.wait(atMost: limit) }
}
