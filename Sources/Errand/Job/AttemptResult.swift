import Postgres

/// The outcome of an attempt, with all that the database needs to record it.
package struct AttemptResult: Sendable {
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
    /// Nil unless the handler committed the outcome in its own transaction.
    private(set) var commit: HandlerCommit?
    /// The class of the error: see ``Swift/Error/loggedClass``. Nil if the handler only gave a reason.
    private(set) var cause: String?

    /// What logs and traces say of a failure, without its text, which may hold private data.
    var shownCause: String { cause ?? "reported by its handler" }
}

/// A completion that was committed together with the handler's writes.
struct HandlerCommit: Sendable {
    let outcome: AttemptOutcome
    let error: String?
    let cause: String?
    /// The id of a failure's error, for the log.
    let errorID: String?
    /// The number of that transaction.
    let transaction: Int64
    /// Keeps the transaction open in the counts until its completion is counted.
    let ticket: CountedTransactions.Ticket
}

// MARK: - One for each outcome
extension AttemptResult {
    static func succeeded(output: JSONB?) -> Self { Self(outcome: .succeeded, output: output) }

    static func retried(error: String, after delay: Duration) -> Self {
        Self(outcome: .retried, error: error, delay: delay)
    }

    static func snoozed(for delay: Duration) -> Self { Self(outcome: .snoozed, delay: delay) }

    static func snoozed(until time: Timestamp) -> Self { Self(outcome: .snoozed, dueAt: time) }

    static func parked(circuit: String, until: Timestamp?, reason: String) -> Self {
        Self(outcome: .parked, error: reason, dueAt: until, circuit: circuit)
    }

    /// Handed back, uncounted: the worker stops, or the job waited too long for a slot.
    static let released = Self(outcome: .released)

    static func failed(error: String) -> Self { Self(outcome: .failed, error: error) }

    static func cancelled(reason: String) -> Self { Self(outcome: .cancelled, error: reason) }

    static func obsolete(reason: String) -> Self { Self(outcome: .obsolete, error: reason) }

    /// Already written.
    static func committed(_ commit: HandlerCommit) -> Self {
        Self(outcome: commit.outcome, error: commit.error, commit: commit, cause: commit.cause)
    }

    /// The result to write instead of one that the database refuses.
    var unwritable: Self {
        var result = Self.failed(error: "its outcome could not be written: \(outcome) was refused")
        result.cause = cause
        return result
    }

    /// The same result, with the class of the error that caused it.
    func caused(by cause: String?) -> Self {
        var result = self
        result.cause = cause
        return result
    }
}

// MARK: - From what a handler returns
extension AttemptResult {
    /// The result for a job whose handler returned `outcome`.
    init(_ outcome: Outcome, of job: ClaimedJob, _ policy: JobPolicy) {
        self =
            switch outcome {
            case .done(let output): .succeeded(checking: output)
            case .snooze(let delay): .snoozed(for: delay)
            case .snoozeUntil(let time): .snoozed(until: time)
            case .unavailable(let circuit, let until, let reason):
                .parked(circuit: circuit, until: until, reason: reason)
            case .cancel(let reason): .cancelled(reason: reason)
            case .fail(let reason, let cause): .failed(error: reason).caused(by: cause)
            case .retry(let delay, let reason, let cause):
                .failure(reason, of: job, policy, delay: delay).caused(by: cause)
            }
    }

    private static func succeeded(checking output: JSONB?) -> Self {
        do {
            return .succeeded(output: try output?.checkedAsOutput())
        } catch {
            return .failed(error: error.recordedText).caused(by: error.loggedClass)
        }
    }

    /// The result for a job whose attempt failed: a retry if an attempt is left.
    static func failure(
        _ reason: String, of job: ClaimedJob, _ policy: JobPolicy, delay: Duration? = nil
    ) -> Self {
        guard job.attempt < job.maxAttempts else { return .failed(error: reason) }
        var random = SystemRandomNumberGenerator()
        return .retried(error: reason, after: delay ?? policy.retry.delay(afterAttempt: job.attempt, using: &random))
    }
}
