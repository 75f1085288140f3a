/// Tracks which records of its claims (`errand.claim`) a worker process still needs: those with a job that it may hold.
///
/// A record is written with each claim, and removed with a heartbeat. Records are grouped into epochs, from one
/// heartbeat to the next, so that a heartbeat doesn't list single claims. An epoch is over once none of its claims runs
/// and none of its jobs is held. A long job keeps only the records of its own epoch.
struct ClaimEpochs: Sendable {
    private struct Epoch {
        let workerID: Int64
        /// Running claims, and jobs without a written outcome.
        var open = 0
    }

    private var epochs: [Int32: Epoch] = [:]
    private var current: Int32 = 0
    /// How many claims of each epoch are under way: sent, and their jobs not handed on.
    private var underWay: [Int32: Int] = [:]

    /// The epochs with open claims, or with records to remove.
    var count: Int { epochs.count }

    /// A claim is about to be sent under this worker id. Returns its epoch.
    mutating func claims(under workerID: Int64) -> Int32 {
        if let epoch = epochs[current], epoch.workerID != workerID { current += 1 }
        epochs[current, default: Epoch(workerID: workerID)].open += 1
        underWay[current, default: 0] += 1
        return current
    }

    /// The jobs of a claim were handed on, or it returned none.
    mutating func ended(_ epoch: Int32) {
        underWay[epoch]! -= 1
        if underWay[epoch] == 0 { underWay[epoch] = nil }
    }

    /// A list of all jobs that is made from now on covers the claims before this epoch: none of them is under way. Nil
    /// if there are no records of such claims.
    var coveredBefore: Int32? {
        let bound = underWay.keys.min().map { min($0, current) } ?? current
        return epochs.keys.contains { $0 < bound } ? bound : nil
    }

    /// A claim of this epoch returned `jobs` jobs. A claim whose result was lost is never reported: its records stay
    /// until the process leaves that worker id.
    mutating func claimed(_ jobs: Int, in epoch: Int32) { epochs[epoch]?.open += jobs - 1 }

    /// The outcome of a job is written, or this process no longer owns the job.
    mutating func finished(_ job: ClaimedJob) { epochs[job.epoch]?.open -= 1 }

    /// Begins a new epoch. Returns the epochs that are over, whose records can be removed.
    mutating func advance() -> [Int32] {
        if epochs[current] != nil { current += 1 }
        return epochs.filter { $0.value.open == 0 }.map(\.key).sorted()
    }

    /// The records of these epochs are removed.
    mutating func removed(_ over: [Int32]) {
        for epoch in over { epochs[epoch] = nil }
    }

    /// The process has left this worker id, which removed its records.
    mutating func left(_ workerID: Int64) {
        epochs = epochs.filter { $0.value.workerID != workerID }
        // Outcomes of its jobs may still come.
        current += 1
    }
}
