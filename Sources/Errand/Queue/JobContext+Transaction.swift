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
    /// The job has ended when this returns: return what it returns. A job with a guard that says no by now is rolled
    /// back, and obsolete. The connection is one of the worker's `database`.
    ///
    /// - Throws: what `body` throws, and nothing is written then; ``EndRefused`` where the job is no longer this
    ///   worker's; a ``PostgresError`` whose `isOutcomeUnknown` is true where the commit's answer was lost: if it did
    ///   commit, the job does not run again.
    public func transaction(
        _ body: @Sendable (Transaction) async throws -> Outcome
    ) async throws -> Outcome {
        let policy = environment.handlers[kind]?.policy ?? JobPolicy()
        let ticket = environment.commits.begin()
        do {
            let (outcome, commit) = try await committing(body, policy: policy, ticket: ticket)
            control.commit = commit
            return outcome
        } catch {
            environment.commits.end(ticket)
            throw error
        }
    }

    private func committing(
        _ body: @Sendable (Transaction) async throws -> Outcome, policy: JobPolicy, ticket: CountedTransactions.Ticket
    ) async throws -> (Outcome, HandlerCommit) {
        try await database.transaction { transaction in
            let outcome = try await body(transaction)
            let completion = Completion(job: job, result: AttemptResult(outcome, of: job, policy), took: .zero)
            var (state, number) = try await transaction.write(completion)
            // Another session has the job's row, such as one that cancels it and has not committed. The attempt's
            // deadline ends this too.
            var delay: Duration = .milliseconds(5)
            while state == "locked" {
                try await Task.sleep(for: delay)
                delay = min(delay * 2, .milliseconds(100))
                (state, number) = try await transaction.write(completion)
            }
            guard state == "completed", let number else { throw EndRefused(isUnwanted: state == "unwanted") }
            return (outcome, HandlerCommit(outcome: completion.outcome, transaction: number, ticket: ticket))
        }
    }
}

extension Transaction {
    /// Returns the state that errand.commit_v1 returns, and the transaction's number where that is `ended`.
    fileprivate func write(_ completion: Completion) async throws -> (state: String, number: Int64?) {
        guard let row = try await query(completion.commitStatement).first else {
            throw UnexpectedAnswer("errand.commit_v1", expected: "one row", came: "none")
        }
        return try row.decode(String.self, Int64?.self)
    }
}

/// The job could not end in its handler's transaction, so that was rolled back.
public struct EndRefused: Error, Sendable, CustomStringConvertible {
    /// True where the job's guard said no; false where the job was cancelled or runs elsewhere.
    public let isUnwanted: Bool

    public var description: String {
        isUnwanted
            ? "rolled back: the job's guard said no at completion" : "rolled back: the job is no longer this worker's"
    }
}
