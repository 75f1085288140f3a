import Waiting

/// Updates the queues' shares of slots when workers of other databases need some or have released some, also while a
/// queue's loop waits for its database.
struct ShareKeeper {
    let queues: [QueueClaims]
    let changed: Signal

    /// Runs until its task is cancelled.
    func run() async {
        guard queues.contains(where: { $0.held.share != nil }) else { return }
        while !Task.isCancelled {
            for queue in queues {
                if queue.updateShare() { queue.held.work.raise() }
            }
            await changed.wait(atMost: queues.contains { $0.checksShareIn != nil } ? QueueClaims.shareCheck : nil)
        }
        for queue in queues { queue.held.share?.leave() }
    }
}
