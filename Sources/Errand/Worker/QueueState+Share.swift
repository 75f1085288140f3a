import CoreMetrics
import Synchronization
import Waiting

/// The slots that the queue shares with workers of other databases.
extension QueueState {
    /// How long a claim may take before the slots that it would fill count as free.
    private static let claimTimeout: Duration = .milliseconds(500)
    /// How often a queue without a free slot looks for one. Usually it is woken.
    static let shareCheck: Duration = .milliseconds(250)

    /// Takes as many slots as the queue needs and may have, and releases those that others need. Returns how many
    /// dispatchers to add, and whether it has more slots now.
    func updateShare() -> (dispatchers: Int, hasMore: Bool) {
        guard let share else { return (0, false) }
        let (dispatchers, before, now, others) = state.withLock { state in
            let before = state.slots.count
            let (grant, others) = share.update(running: state.slots.running, demand: demand(state))
            state.slots.resize(to: grant)
            return (state.slots.addDispatchers(), before, grant, others)
        }
        for other in others { other.raise() }
        if now != before { metrics?.slots.set(now) }
        return (dispatchers, now > before)
    }

    /// How long the queue may wait before it updates its share; nil if nothing but a wake-up gives it something to do.
    var checksShareIn: Duration? { share != nil && isAwake ? Self.shareCheck : nil }

    /// How many attempts the queue could run. One that claims could run any number. A claim that hangs, or fails,
    /// brings none.
    private func demand(_ state: borrowing State) -> Int {
        let known = state.slots.running + state.slots.waitingCount
        guard state.claims.isAwake, !state.isBackingOff, !shared.isStopping, !shared.capacity.crashedJobs.runsAlone
        else {
            return known
        }
        guard let since = state.askingSince, ContinuousClock.now - since > Self.claimTimeout else { return .max }
        return known
    }
}

/// Updates the queues' shares when workers of other databases need slots or have released some, also while a queue's
/// loop waits for its database.
struct ShareKeeper {
    let shared: WorkerState
    let queues: [QueueState]
    let runner: AttemptRunner

    /// Runs until its task is cancelled.
    func run() async {
        guard queues.contains(where: { $0.share != nil }) else { return }
        while !Task.isCancelled {
            for queue in queues where runner.updateShare(of: queue) { queue.work.raise() }
            await shared.sharesChanged.wait(
                atMost: queues.contains { $0.checksShareIn != nil } ? QueueState.shareCheck : nil)
        }
        for queue in queues { queue.share?.leave() }
    }
}
