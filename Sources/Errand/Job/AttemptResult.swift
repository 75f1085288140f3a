import Postgres

/// What an attempt came to, and what the database needs to know to act on it.
package struct AttemptResult: Sendable {
    package let outcome: AttemptOutcome
    /// What went wrong, or why the job was cancelled or parked or is obsolete.
    package private(set) var error: String?
    /// What the handler returned.
    package private(set) var output: JSONB?
    /// Until the job is due again.
    private(set) var delay: Duration?
    /// When the job is due again, or the dependency may be tried again.
    private(set) var dueAt: Timestamp?
    /// What a parked job waits for.
    private(set) var dependency: String?
    /// Nil unless the handler has written it with a transaction of its own.
    private(set) var commit: HandlerCommit?
    /// The type of the error that was thrown, for logs: its text may hold what the job was about. Nil if none was.
    private(set) var cause: String?
}

/// A completion that was committed together with what its handler wrote.
struct HandlerCommit: Sendable {
    let outcome: AttemptOutcome
    /// The number of that transaction.
    let transaction: Int64
    /// Holds the transaction open in the counts until the completion is counted.
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

    static func parked(dependency: String, until: Timestamp?, reason: String) -> Self {
        Self(outcome: .parked, error: reason, dueAt: until, dependency: dependency)
    }

    /// Back to the queue, uncounted: the worker stops, or the job has waited for a slot for too long.
    static let released = Self(outcome: .released)

    static func failed(error: String) -> Self { Self(outcome: .failed, error: error) }

    static func cancelled(reason: String) -> Self { Self(outcome: .cancelled, error: reason) }

    static func obsolete(reason: String) -> Self { Self(outcome: .obsolete, error: reason) }

    /// Written already.
    static func committed(_ commit: HandlerCommit) -> Self { Self(outcome: commit.outcome, commit: commit) }

    /// What is written instead of a result that the database refuses as it is.
    var unwritable: Self {
        var result = Self.failed(error: "its end could not be written: \(outcome) was refused")
        result.cause = cause
        return result
    }

    /// The same, with the type of the error that it comes from.
    func caused(by cause: String) -> Self {
        var result = self
        result.cause = cause
        return result
    }
}

// MARK: - From what a handler says
extension AttemptResult {
    /// What becomes of a job whose handler returned `outcome`.
    init(_ outcome: Outcome, of job: ClaimedJob, _ policy: JobPolicy) {
        self =
            switch outcome {
            case .done(let output): .succeeded(output: output)
            case .snooze(let delay): .snoozed(for: delay)
            case .snoozeUntil(let time): .snoozed(until: time)
            case .park(let dependency, let until, let reason):
                .parked(dependency: dependency, until: until, reason: reason)
            case .cancel(let reason): .cancelled(reason: reason)
            case .fail(let reason): .failed(error: reason)
            case .retry(let delay, let reason): .failure(reason, of: job, policy, delay: delay)
            }
    }

    /// What becomes of a job whose attempt failed: another one, if there is one left.
    static func failure(
        _ reason: String, of job: ClaimedJob, _ policy: JobPolicy, delay: Duration? = nil
    ) -> Self {
        guard job.attempt < job.maxAttempts else { return .failed(error: reason) }
        var random = SystemRandomNumberGenerator()
        return .retried(error: reason, after: delay ?? policy.retry.pause(afterAttempt: job.attempt, using: &random))
    }
}
