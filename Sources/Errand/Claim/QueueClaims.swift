import CoreMetrics
import Synchronization
import Waiting

/// When and where one queue of a worker claims: ``ClaimPlan`` under a lock, beside the jobs that the queue holds.
///
/// Where both locks are needed, the plan's comes first.
final class QueueClaims: Sendable {
    /// What the loop of the first loop does.
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

    private func room(_ held: borrowing HeldJobs.State) -> Int { stop.isMade ? 0 : held.room(batch: batch) }
}

// MARK: - What to do next
/// What one round trip is to do.
struct RoundTripTask {
    var completions: [Completion] = []
    /// The most jobs to claim, for which there is room; 0 claims none.
    var limit = 0
    /// How many of them begin at once.
    var beginsNow = 0
    /// Whether to omit the release of the limits of completed jobs.
    var omitsRelease = false
}

extension QueueClaims {
    /// The next step of the first loop.
    enum Step {
        case run(RoundTripTask)
        /// Scan ahead before the next claim.
        case scanAhead
        /// Wait for something to do, at most for the delay of claims after a failed one.
        case rest(atMost: Duration?)
        /// The worker stops, and this queue has nothing left to write.
        case end
    }

    /// - Parameter isArmed: whether no claim is needed before a wake-up.
    func next(isArmed: Bool) -> Step {
        plan.withLock { plan in
            held.state.withLock { held in
                let completions = held.takeCompletions()
                let delay = plan.delay(at: .now)
                let claims =
                    delay == nil && !plan.scansAhead
                    && Self.mayClaim(behind: completions, isArmed: isArmed, plan, held)
                let limit = claims ? min(room(held), plan.most) : 0
                if limit > 0 { plan.asks() }
                if limit > 0 || !completions.isEmpty { return .run(held.task(completions, limit: limit)) }
                if stop.isMade { return held.inFlight == 0 ? .end : .rest(atMost: delay) }
                return plan.scansAhead ? .scanAhead : .rest(atMost: delay)
            }
        }
    }

    /// A large batch for the second loop; nil if the first one is enough.
    func nextLarge() -> RoundTripTask? {
        plan.withLock { plan in
            held.state.withLock { held in
                let limit = min(room(held), plan.most)
                guard plan.hasBacklog, !plan.scansAhead, !plan.isRefused, !held.completions.isIsolating,
                    limit >= largeClaim
                else { return nil }
                return held.task(held.takeCompletions(), limit: limit)
            }
        }
    }

    /// The number of jobs from which a claim is worth the second loop.
    var largeClaim: Int { max(1, batch / 4) }

    /// Whether a claim may find a job. After completions, it may find one without a wake-up.
    private static func mayClaim(
        behind completions: [Completion], isArmed: Bool, _ plan: borrowing ClaimPlan, _ held: borrowing HeldJobs.State
    ) -> Bool {
        if completions.isEmpty { return plan.isAwake }
        if plan.isRefused { return false }
        if plan.isAwake || !isArmed { return true }
        if held.slots.beginsOnly { return true }
        if held.completions.hasUnreleased { return true }
        return completions.contains(where: \.mayLeaveDueJob)
    }
}

extension HeldJobs.State {
    /// The round trip that writes these completions and claims up to `limit` jobs, which are reserved.
    fileprivate mutating func task(_ completions: [Completion], limit: Int) -> RoundTripTask {
        let beginsNow = slots.free
        reserve(limit)
        return RoundTripTask(
            completions: completions, limit: limit, beginsNow: beginsNow,
            omitsRelease: self.completions.takeOmission())
    }
}

// MARK: - Shared slots
extension QueueClaims {
    /// How long a claim may take before the slots that it would fill count as free.
    private static let claimTimeout: Duration = .milliseconds(500)
    /// How often a queue without a free slot looks for one. Usually it is woken.
    static let shareCheck: Duration = .milliseconds(250)

    /// How long the queue may wait before it updates its share; nil if nothing but a wake-up gives it something to do.
    var checksShareIn: Duration? { held.share != nil && isAwake ? Self.shareCheck : nil }

    /// Takes as many slots as the queue needs and may have, and releases those that others need. Returns how many
    /// dispatchers to add, and whether it has more slots now.
    func updateShare() -> (dispatchers: Int, hasMore: Bool) {
        guard let share = held.share else { return (0, false) }
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
        return (dispatchers, now > before)
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
