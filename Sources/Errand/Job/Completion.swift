import Postgres

/// The end of an attempt, ready to be written: the job with its fencing position, its outcome, and all that the
/// database needs to record it.
package struct Completion: Sendable {
    package let job: ClaimedJob
    package let outcome: AttemptOutcome
    /// What went wrong, or why the job was cancelled, parked or became obsolete.
    package private(set) var error: String?
    /// What the handler returned.
    package private(set) var output: JSONB?
    /// Until the job is due again.
    private(set) var delay: Duration?
    /// When the job is due again, or when the circuit may be probed.
    private(set) var dueAt: Timestamp?
    /// What a parked job waits for.
    private(set) var circuit: String?
    /// The class of the error: see ``Swift/Error/loggedClass``. Nil if the handler only gave a reason.
    private(set) var cause: String?
    /// Nil unless the handler's own transaction has written the completion.
    private(set) var commit: Commit?
    /// Sent before, and the reply was lost: refused now, it counts as written then.
    private(set) var wasSent = false
    /// From the start of the attempt to its end, by the worker's clock.
    package var took: Duration = .zero
    /// How many jobs shared this time, in a chunk.
    var together = 1

    /// The transaction of a handler that completed its job.
    struct Commit: Sendable {
        /// The number of the transaction.
        let transaction: Int64
        /// The id of a failure's error, for the log.
        let errorID: String?
        /// Keeps the transaction open in the counts until its completion is counted.
        let ticket: CommitTicket
    }
}

// MARK: - One for each outcome
extension Completion {
    package static func succeeded(_ job: ClaimedJob, output: JSONB? = nil) -> Self {
        Self(job: job, outcome: .succeeded, output: output)
    }

    package static func retried(_ job: ClaimedJob, error: String, after delay: Duration?) -> Self {
        Self(job: job, outcome: .retried, error: error, delay: delay)
    }

    static func snoozed(_ job: ClaimedJob, for delay: Duration) -> Self {
        Self(job: job, outcome: .snoozed, delay: delay)
    }

    static func snoozed(_ job: ClaimedJob, until time: Timestamp) -> Self {
        Self(job: job, outcome: .snoozed, dueAt: time)
    }

    static func parked(_ job: ClaimedJob, circuit: String, until: Timestamp? = nil, reason: String) -> Self {
        Self(job: job, outcome: .parked, error: reason, dueAt: until, circuit: circuit)
    }

    static func waiting(_ job: ClaimedJob, for signal: String, until time: Timestamp, by role: String?) -> Self {
        do {
            let wait = ["for": signal, "by": role].compactMapValues(\.self)
            return Self(job: job, outcome: .waiting, output: try JSONB(encoding: wait), dueAt: time)
        } catch {
            return .failed(job, error: error.recordedText).caused(by: error.loggedClass)
        }
    }

    /// Handed back, uncounted: the worker stops, or the job waited too long for a slot.
    static func released(_ job: ClaimedJob) -> Self { Self(job: job, outcome: .released) }

    static func failed(_ job: ClaimedJob, error: String) -> Self { Self(job: job, outcome: .failed, error: error) }

    static func cancelled(_ job: ClaimedJob, reason: String) -> Self {
        Self(job: job, outcome: .cancelled, error: reason)
    }

    static func obsolete(_ job: ClaimedJob, reason: String) -> Self {
        Self(job: job, outcome: .obsolete, error: reason)
    }

    /// A retry if an attempt is left, else a final failure. Without a delay the database draws that of the kind.
    static func failure(_ job: ClaimedJob, error: String, delay: Duration? = nil) -> Self {
        job.attempt < job.maxAttempts ? .retried(job, error: error, after: delay) : .failed(job, error: error)
    }
}

// MARK: - From what a handler returns
extension Completion {
    init(_ outcome: Outcome, of job: ClaimedJob) {
        self =
            switch outcome {
            case .done(let output): .succeeded(job, checking: output)
            case .snooze(let delay): .snoozed(job, for: delay)
            case .snoozeUntil(let time): .snoozed(job, until: time)
            case .unavailable(let circuit, let until, let reason):
                .parked(job, circuit: circuit, until: until, reason: reason)
            case .wait(let signal, let until, let role): .waiting(job, for: signal, until: until, by: role)
            case .cancel(let reason): .cancelled(job, reason: reason)
            case .fail(let reason, let cause): .failed(job, error: reason).caused(by: cause)
            case .retry(let delay, let reason, let cause):
                .failure(job, error: reason, delay: delay).caused(by: cause)
            }
    }

    private static func succeeded(_ job: ClaimedJob, checking output: JSONB?) -> Self {
        do {
            return .succeeded(job, output: try output?.checkedAsOutput())
        } catch {
            return .failed(job, error: error.recordedText).caused(by: error.loggedClass)
        }
    }
}

// MARK: - What is known later
extension Completion {
    /// The same completion, with the class of the error that caused it.
    func caused(by cause: String?) -> Self {
        var completion = self
        completion.cause = cause
        return completion
    }

    /// The same completion, already written. Its output isn't needed any more.
    func committed(in commit: Commit) -> Self {
        var completion = self
        completion.output = nil
        completion.commit = commit
        return completion
    }

    /// The same completion, sent and perhaps written.
    var sent: Self {
        var completion = self
        completion.wasSent = true
        return completion
    }

    /// The completion to write instead of one that the database refuses.
    var unwritable: Self {
        var completion = Self.failed(job, error: "its outcome could not be written: \(outcome) was refused")
        completion.cause = cause
        completion.took = took
        return completion
    }
}

// MARK: - What follows from it
extension Completion {
    /// What logs and traces say of a failure, without its text, which may hold private data.
    var shownCause: String { cause ?? "reported by its handler" }

    /// Whether the completion may make a job due without a wake-up: the job itself, or one that waits for its limit or
    /// its order key.
    var mayLeaveDueJob: Bool {
        commit != nil || !outcome.isFinal || job.options?.limitKey != nil || job.options?.orderKey != nil
    }

    /// The limits in which the completions free a slot.
    static func limitKeys(of completions: [Completion]) -> [String] { completions.compactMap(\.job.options?.limitKey) }
}
