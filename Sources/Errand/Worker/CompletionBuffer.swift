/// The completions of a queue that are still to be written, batch by batch.
///
/// A pure decision: ``QueueState`` keeps it under its lock, and ``RoundTrip`` writes what it hands out. While one batch
/// is being written the next one forms: there is no timer between an outcome and its write.
struct CompletionBuffer {
    /// Until outcomes of locked jobs are written again: at first as long as a claim takes, which may have met their
    /// rows while they were being claimed here. Twice as long each time, up to `longestDelay`.
    static let firstDelay: Duration = .milliseconds(5)
    static let longestDelay: Duration = .milliseconds(100)

    private var pending: [Completion] = []
    /// To be written again a moment later, since another session has their jobs locked.
    private var postponed: [Completion] = []
    private var delay = firstDelay
    /// Writes that are under way.
    private(set) var writes = 0
    /// A write was refused for a reason of its own: completions are written one by one, to find the one that it was.
    private(set) var isIsolating = false
    /// The limits of completed jobs could not be released: the next batch is written without that, and housekeeping
    /// does it.
    private var omitsRelease = false
    /// The limits of jobs whose outcomes were written without a claim: it is for a claim to take what waits for them.
    private var unreleased: Set<String> = []

    var isEmpty: Bool { pending.isEmpty }

    /// Whether limits are still to be released for the next claim.
    var hasUnreleased: Bool { !unreleased.isEmpty }

    /// Whether an outcome under this worker id is still to be written.
    func owes(_ workerID: Int64) -> Bool {
        writes > 0 || pending.contains { $0.job.workerID == workerID }
            || postponed.contains { $0.job.workerID == workerID }
    }

    mutating func add(_ completion: Completion) { pending.append(completion) }

    mutating func add(_ completions: [Completion]) { pending += completions }
}

// MARK: - Writing
extension CompletionBuffer {
    /// Takes the next batch, whose write begins now; empty if there is nothing to write.
    mutating func take() -> [Completion] {
        let batch = isIsolating ? Array(pending.prefix(1)) : pending
        guard !batch.isEmpty else { return [] }
        pending.removeFirst(batch.count)
        writes += 1
        isIsolating = isIsolating && !pending.isEmpty
        return batch
    }

    /// A write has ended, but for the completions whose jobs are locked. Returns after which delay all that are
    /// postponed are to be written again; nil if there are none, or if that is planned already.
    mutating func written(except locked: [Completion]) -> Duration? {
        writes -= 1
        guard !locked.isEmpty else {
            if postponed.isEmpty { delay = Self.firstDelay }
            return nil
        }
        defer { postponed += locked }
        guard postponed.isEmpty else { return nil }
        defer { delay = min(delay * 2, Self.longestDelay) }
        return delay
    }

    /// The delay is over: what was postponed is written with the next batch.
    mutating func resume() {
        pending.append(contentsOf: postponed)
        postponed = []
    }

    /// Takes a batch back that was not written.
    ///
    /// - Parameter isRefused: the database refused the statement of the batch itself.
    mutating func notWritten(_ batch: [Completion], isRefused: Bool) {
        guard !batch.isEmpty else { return }
        writes -= 1
        isIsolating = isRefused
        var batch = batch
        // Alone, and still refused: it can't be written as it is. Its reason can.
        if isRefused, batch.count == 1 { batch[0].result = batch[0].result.unwritable }
        pending.insert(contentsOf: batch, at: 0)
    }
}

// MARK: - Limits
extension CompletionBuffer {
    /// Makes the next batch leave out the release of limits.
    mutating func omitRelease() { omitsRelease = true }

    mutating func takeOmission() -> Bool {
        defer { omitsRelease = false }
        return omitsRelease
    }

    /// The limits to release behind these completions, for the claim behind them to take what waits.
    ///
    /// - Parameter isClaiming: without a claim the jobs would go to the end of the queue. Then the next claim releases
    ///   them, or housekeeping does within 200 ms.
    mutating func limitsToRelease(after batch: [Completion], isClaiming: Bool) -> Set<String> {
        let keys = Completion.limitKeys(of: batch)
        guard isClaiming else {
            unreleased.formUnion(keys)
            return []
        }
        defer { unreleased = [] }
        return unreleased.union(keys)
    }
}
