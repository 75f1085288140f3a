import Postgres

extension JobContext {
    /// Runs `body` in a transaction in which the job ends too: what it writes and how the job ends commit together, or
    /// neither does. So the writes happen exactly once, whatever is lost in between.
    ///
    /// ```swift
    /// func run(_ job: Transfer, in context: JobContext) async throws -> Outcome {
    ///     try await context.transaction { transaction in
    ///         try await transaction.execute(Statement("update account set …", [job.amount]))
    ///         return .done
    ///     }
    /// }
    /// ```
    /// The job has ended when this returns: return what it returns. A job with a guard that says no by now is rolled back,
    /// and obsolete. The connection is one of the worker's `database`.
    ///
    /// - Throws: what `body` throws, and nothing is written then; ``EndRefused`` where the job is no longer this worker's; a
    ///   ``PostgresError`` whose `isOutcomeUnknown` is true where the commit's answer was lost: if it did commit, the job
    ///   does not run again.
    public func transaction(
        _ body: @Sendable (Transaction) async throws -> Outcome
    ) async throws -> Outcome {
        let policy = worker.handlers[kind]?.policy ?? JobPolicy()
        let (outcome, word) = try await database.transaction { transaction in
            let outcome = try await body(transaction)
            let settlement = Settlement(job: job, ending: Settlement.Ending(outcome, of: job, policy), took: .zero)
            var answer = try await transaction.query(settlement.commitStatement).scalar(String.self)
            // Another session has the job's row, such as one that cancels it and has not committed. The attempt's deadline
            // ends this too.
            var delay: Duration = .milliseconds(5)
            while answer == "locked" {
                try await Task.sleep(for: delay)
                delay = min(delay * 2, .milliseconds(100))
                answer = try await transaction.query(settlement.commitStatement).scalar(String.self)
            }
            guard answer == "ended" else { throw EndRefused(isUnwanted: answer == "unwanted") }
            return (outcome, settlement.outcome)
        }
        control.committed = word
        return outcome
    }
}

/// The job could not end in its handler's transaction, so that was rolled back.
public struct EndRefused: Error, Sendable, CustomStringConvertible {
    /// True where the job's guard said no; false where the job was cancelled or runs elsewhere.
    public let isUnwanted: Bool

    public var description: String {
        isUnwanted
            ? "rolled back: the job's guard said no at the end" : "rolled back: the job is no longer this worker's"
    }
}
