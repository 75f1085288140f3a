import CoreMetrics
import Synchronization
import Waiting

/// When and where one queue of a worker claims: ``ClaimPlan`` under a lock, beside the jobs that the queue holds.
///
/// Where both locks are needed, the plan's comes first.
final class QueueClaims: Sendable {
    /// What the first loop does.
    enum Phase {
        case working
        /// It waits for something to do.
        case resting
        /// It waits for the database.
        case asking(since: ContinuousClock.Instant)
        /// It waits after a failure.
        case backingOff
    }

    let name: String
    let held: HeldJobs
    let metrics: QueueMetrics?
    let plan = Mutex(ClaimPlan())
    let phase = Mutex(Phase.working)
    /// The iterations of that loop.
    let iterations = Atomic<Int>(0)
    /// Raised when there is enough for the second loop, when its delay should end, and when the worker stops.
    let backlog = Signal()
    private let batch: Int
    private let stop: StopRequest

    /// - Parameter batch: the most jobs in one claim.
    init(of held: HeldJobs, batch: Int, stop: StopRequest, metrics: QueueMetrics? = nil) {
        name = held.queue
        self.held = held
        self.batch = batch
        self.stop = stop
        self.metrics = metrics
    }

    /// A job may be due, or the worker stops: the queue claims once, and goes on while claims return their full limit.
    func wake() {
        plan.withLock { $0.wake() }
        held.work.raise()
    }

    var isAwake: Bool { plan.withLock(\.isAwake) }

    /// Whether the queue may claim now. A queue without a free slot is awake, but doesn't claim.
    var isClaiming: Bool { isAwake && held.state.withLock { room($0) > 0 } }

    /// Whether there is something to do now; nil while another thread has a lock.
    var hasWork: Bool? {
        plan.withLockIfAvailable { plan in
            held.state.withLockIfAvailable { held in
                !held.completions.isEmpty || plan.isAwake && plan.delay(at: .now) == nil && room(held) > 0
            }
        } ?? nil
    }

    /// The most jobs that a claim may ask for now.
    func room(_ held: borrowing HeldJobs.State) -> Int { stop.isMade ? 0 : held.room(batch: batch) }

    /// The number of jobs from which a claim is worth the second loop.
    var largeClaim: Int { max(1, batch / 4) }
}

// MARK: - Shared slots
extension QueueClaims {
    /// How long a claim may take before the slots that it would fill count as free.
    private static let claimTimeout: Duration = .milliseconds(500)
    /// How often a queue without a free slot looks for one. Usually it is woken.
    static let shareCheck: Duration = .milliseconds(250)

    /// How long the queue may wait before it updates its share; nil if nothing but a wake-up gives it something to do.
    var checksShareIn: Duration? { held.share != nil && isAwake ? Self.shareCheck : nil }

    /// Takes as many slots as the queue needs and may have, and releases those that others need. Returns whether it has
    /// more slots now.
    @discardableResult
    func updateShare() -> Bool {
        guard let share = held.share else { return false }
        let mayClaim = mayClaim
        let (dispatchers, before, now, others) = held.state.withLock { held in
            let before = held.slots.count
            // One that claims could run any number.
            let demand = mayClaim ? .max : held.slots.running + held.slots.waitingCount
            let (limit, others) = share.update(running: held.slots.running, demand: demand)
            held.slots.resize(to: limit)
            return (held.slots.addDispatchers(), before, limit, others)
        }
        for other in others { other.raise() }
        if now != before { metrics?.slots.set(now) }
        held.dispatch(dispatchers)
        return now > before
    }

    /// Whether the queue may get any number of jobs. A claim that hangs, or fails, brings none.
    private var mayClaim: Bool {
        guard isAwake, !stop.isMade, !held.runsAlone else { return false }
        return switch phase.withLock(\.self) {
        case .backingOff: false
        case .asking(let since): ContinuousClock.now - since <= Self.claimTimeout
        case .working, .resting: true
        }
    }
}
