/// Tracks which records of its claims (`errand.claim`) a worker process still needs: those with a job that it may hold.
///
/// A record is written with each claim, and removed with a heartbeat. Records are grouped into generations, from one
/// heartbeat to the next, so that a heartbeat doesn't list single claims. A generation is over once none of its claims
/// runs and none of its jobs is held. A long job keeps only the records of its own generation.
struct ClaimGenerations: Sendable {
    private struct Generation {
        let workerID: Int64
        /// Running claims, and jobs without a written outcome.
        var open = 0
    }

    private var generations: [Int32: Generation] = [:]
    private var current: Int32 = 0
    /// How many claims of each generation are under way: sent, and their jobs not handed on.
    private var underWay: [Int32: Int] = [:]

    /// The generations with open claims, or with records to remove.
    var count: Int { generations.count }

    /// A claim is about to be sent under this worker id. Returns its generation.
    mutating func claims(under workerID: Int64) -> Int32 {
        if let generation = generations[current], generation.workerID != workerID { current += 1 }
        generations[current, default: Generation(workerID: workerID)].open += 1
        underWay[current, default: 0] += 1
        return current
    }

    /// The jobs of a claim were handed on, or it returned none.
    mutating func ended(_ generation: Int32) {
        underWay[generation]! -= 1
        if underWay[generation] == 0 { underWay[generation] = nil }
    }

    /// Whether a claim of this worker id is under way.
    func areUnderWay(under workerID: Int64) -> Bool {
        underWay.keys.contains { generations[$0]?.workerID == workerID }
    }

    /// A list of all jobs that is made from now on covers the claims before this generation: none of them is under way.
    /// Nil if there are no records of such claims.
    var coveredBefore: Int32? {
        let bound = underWay.keys.min().map { min($0, current) } ?? current
        return generations.keys.contains { $0 < bound } ? bound : nil
    }

    /// A claim of this generation returned `jobs` jobs. A claim whose result was lost is never reported: its records
    /// stay until the process leaves that worker id.
    mutating func claimed(_ jobs: Int, in generation: Int32) { generations[generation]?.open += jobs - 1 }

    /// The outcome of a job is written, or this process no longer owns the job.
    mutating func finished(_ job: ClaimedJob) { generations[job.generation]?.open -= 1 }

    /// Begins a new generation. Returns the generations that are over, whose records can be removed.
    mutating func advance() -> [Int32] {
        if generations[current] != nil { current += 1 }
        return generations.filter { $0.value.open == 0 }.map(\.key).sorted()
    }

    /// The records of these generations are removed.
    mutating func removed(_ over: [Int32]) {
        for generation in over { generations[generation] = nil }
    }

    /// The process has left this worker id, which removed its records.
    mutating func left(_ workerID: Int64) {
        generations = generations.filter { $0.value.workerID != workerID }
        // Outcomes of its jobs may still come.
        current += 1
    }
}
