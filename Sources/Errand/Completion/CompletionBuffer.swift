/// Buffers the completions of a queue that are still to be written, batch by batch.
///
/// A pure decision: ``HeldJobs`` keeps it under its lock, and ``RoundTrip`` writes its batches. The next batch forms
/// while one is written: no timer delays the write of an outcome, unless its job is locked.
struct CompletionBuffer {
    /// The delay before outcomes of locked jobs are written again: at first about the duration of another claim, which
    /// may have locked their rows. It doubles each time, up to `longestDelay`.
    static let firstDelay: Duration = .milliseconds(5)
    static let longestDelay: Duration = .milliseconds(100)

    private var pending: [Completion] = []
    /// To be written again later, because another session has locked their jobs.
    private var postponed: [Completion] = []
    private var delay = firstDelay
    /// Batches that are being written.
    private var writing: [[Completion]] = []
    /// The database refused a write: completions are written one by one, to find the refused one.
    private(set) var isIsolating = false
    /// The limits of completed jobs could not be released: the next batch omits the release, and maintenance does it.
    private var omitsRelease = false
    /// The limits of jobs whose outcomes were written without a claim. The next claim releases them and claims what
    /// they held back.
    private var unreleased: Set<String> = []

    var isEmpty: Bool { pending.isEmpty }

    /// Writes that are in progress.
    var writes: Int { writing.count }

    /// All jobs that have ended and whose outcomes are not written.
    var jobs: [ClaimedJob] { (pending + postponed + writing.joined()).map(\.job) }

    /// Whether limits are still to be released for the next claim.
    var hasUnreleased: Bool { !unreleased.isEmpty }

    /// Whether an outcome under this worker id is still to be written, or any is being written.
    func hasUnwritten(_ workerID: Int64) -> Bool {
        !writing.isEmpty || pending.contains { $0.job.workerID == workerID }
            || postponed.contains { $0.job.workerID == workerID }
    }

    mutating func add(_ completion: Completion) { pending.append(completion) }

    mutating func add(_ completions: [Completion]) { pending += completions }
}

// MARK: - Writing
extension CompletionBuffer {
    /// Takes the next batch, whose write begins now. Empty if there is nothing to write.
    mutating func take() -> [Completion] {
        let batch = isIsolating ? Array(pending.prefix(1)) : pending
        guard !batch.isEmpty else { return [] }
        pending.removeFirst(batch.count)
        writing.append(batch)
        isIsolating = isIsolating && !pending.isEmpty
        return batch
    }

    /// A batch is written except for locked jobs. Returns the delay before postponed completions are written again; nil
    /// if there are none, or if that is already planned.
    mutating func written(_ batch: [Completion], except locked: [Completion] = []) -> Duration? {
        end(batch)
        guard !locked.isEmpty else {
            if postponed.isEmpty { delay = Self.firstDelay }
            return nil
        }
        defer { postponed += locked }
        guard postponed.isEmpty else { return nil }
        defer { delay = min(delay * 2, Self.longestDelay) }
        return delay
    }

    /// The delay is over: postponed completions are written with the next batch.
    mutating func resume() {
        pending.append(contentsOf: postponed)
        postponed = []
    }

    /// Why a batch was not written.
    enum Failure {
        /// Its round trip failed otherwise: it is written again as it was.
        case interrupted
        /// The reply was lost, so it may be written.
        case unknown
        /// The database refused the statement of the batch itself.
        case refused
        /// The same, for a value in it: refused again whenever it is sent.
        case valueRefused
    }

    /// Takes back a batch that was not written.
    mutating func notWritten(_ batch: [Completion], because failure: Failure) {
        guard !batch.isEmpty else { return }
        end(batch)
        switch failure {
        case .interrupted: pending.insert(contentsOf: batch, at: 0)
        case .unknown: pending.insert(contentsOf: batch.map(\.sent), at: 0)
        case .refused, .valueRefused:
            isIsolating = true
            if batch.count > 1 {
                pending.insert(contentsOf: batch, at: 0)
            } else if failure == .valueRefused {
                // A failure with the reason can be written.
                pending.insert(batch[0].unwritable, at: 0)
            } else {
                // After the others, since it may be refused for long.
                pending.append(batch[0])
            }
        }
    }

    /// No job is in two batches.
    private mutating func end(_ batch: [Completion]) { writing.removeAll { $0[0].job === batch[0].job } }
}

// MARK: - Limits
extension CompletionBuffer {
    /// Makes the next batch leave out the release of limits.
    mutating func omitRelease() { omitsRelease = true }

    mutating func takeOmission() -> Bool {
        defer { omitsRelease = false }
        return omitsRelease
    }

    /// The limits to release after these completions, so that the claim after them can take the released jobs.
    ///
    /// - Parameter isClaiming: without a claim, released jobs would go to the end of the queue. Then the next claim
    ///   releases them, or maintenance does within 200 ms.
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
