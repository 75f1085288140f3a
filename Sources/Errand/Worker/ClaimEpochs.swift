/// Which records of its claims (`errand.claim`) a worker process still needs: those of whose jobs it may hold one.
///
/// A record is written with each claim, and removed with a heartbeat. So that neither names single claims, they are
/// grouped into epochs, from one heartbeat to the next. An epoch is over once no claim of it is under way and none of
/// its jobs is held. One job that takes long keeps the records of its epoch and of no other.
struct ClaimEpochs: Sendable {
    private struct Epoch {
        let workerID: Int64
        /// Claims under way, and jobs of which no outcome is written.
        var open = 0
    }

    private var epochs: [Int32: Epoch] = [:]
    private var current: Int32 = 0

    /// The epochs that claims still belong to, or whose records are still to be removed.
    var count: Int { epochs.count }

    /// A claim is about to be sent under this worker id. Returns its epoch.
    mutating func claims(under workerID: Int64) -> Int32 {
        if let epoch = epochs[current], epoch.workerID != workerID { current += 1 }
        epochs[current, default: Epoch(workerID: workerID)].open += 1
        return current
    }

    /// A claim of this epoch brought so many jobs. One whose result was lost is never reported: its records stay until
    /// the process leaves that worker id.
    mutating func claimed(_ jobs: Int, in epoch: Int32) { epochs[epoch]?.open += jobs - 1 }

    /// The outcome of a job is written, or the job is no longer this process's.
    mutating func ended(_ job: ClaimedJob) { epochs[job.epoch]?.open -= 1 }

    /// Begins a new epoch. Returns those that are over: their records are to be removed now.
    mutating func turn() -> [Int32] {
        if epochs[current] != nil { current += 1 }
        return epochs.filter { $0.value.open == 0 }.map(\.key).sorted()
    }

    /// The records of these epochs are removed.
    mutating func removed(_ over: [Int32]) {
        for epoch in over { epochs[epoch] = nil }
    }

    /// The process has left this worker id, and its records went with it.
    mutating func left(_ workerID: Int64) {
        epochs = epochs.filter { $0.value.workerID != workerID }
        // Outcomes of its jobs may still come.
        current += 1
    }
}
