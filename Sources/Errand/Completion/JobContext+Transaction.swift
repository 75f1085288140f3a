import Postgres

extension JobContext {
    /// Runs `body` in a transaction that also completes the job: the writes and the completion commit together, or
    /// neither does. So the writes happen exactly once, whatever fails in between.
    ///
    /// ```swift
    /// func run(_ job: Transfer, in context: JobContext) async throws -> Outcome {
    ///     try await context.transaction { transaction in
    ///         try await transaction.execute(Statement("update account set …", [job.amount]))
    ///         return .done
    ///     }
    /// }
    /// ```
    /// The job is complete when this returns. Return its result from the handler. If the job's guard rejects it, the
    /// transaction is rolled back and the job becomes obsolete. The connection is one of the worker's `database`.
    ///
    /// - Throws: what `body` throws, or ``OutputTooLarge``, and then nothing is written; ``CompletionRefused`` if this
    ///   worker no longer owns the job; a ``PostgresError`` whose `isOutcomeUnknown` is true if the reply to the commit
    ///   was lost. If it did commit, the job does not run again.
    public func transaction(
        _ body: @Sendable (Transaction) async throws -> Outcome
    ) async throws -> Outcome {
        let ticket = environment.commits.begin()
        do {
            let (outcome, completion) = try await committing(body, ticket: ticket)
            control.committed = completion
            return outcome
        } catch {
            control.isCommitting = false
            environment.commits.end(ticket)
            throw error
        }
    }

    private func committing(
        _ body: @Sendable (Transaction) async throws -> Outcome, ticket: CommitTicket
    ) async throws -> (Outcome, Completion) {
        try await database.transaction { transaction in
            let outcome = try await body(transaction)
            if case .done(let output?) = outcome { _ = try output.checkedAsOutput() }
            let completion = Completion(outcome, of: job)
            control.isCommitting = true
            var (state, number, errorID) = try await transaction.write(completion)
            // Another session has locked the job's row, such as one that cancels the job and has not committed. The
            // attempt's deadline ends this wait too.
            var delay: Duration = .milliseconds(5)
            while state == "locked" {
                try await Task.sleep(for: delay)
                delay = min(delay * 2, .milliseconds(100))
                (state, number, errorID) = try await transaction.write(completion)
            }
            guard state == "completed", let number else { throw CompletionRefused(isUnwanted: state == "unwanted") }
            let commit = Completion.Commit(transaction: number, errorID: errorID, ticket: ticket)
            return (outcome, completion.committed(in: commit))
        }
    }
}

extension Transaction {
    /// Returns the state that errand_internal.commit_v1 returns; with `completed` the transaction's number, and the id
    /// of a failure's error.
    fileprivate func write(
        _ completion: Completion
    ) async throws -> (state: String, number: Int64?, errorID: String?) {
        do {
            let row = try await query(completion.commitStatement).row(of: "errand_internal.commit_v1")
            return try row.decode(String.self, Int64?.self, String?.self)
        } catch  where error.sqlState == "ER413" {
            throw OutputTooLarge(description: error.detail)
        }
    }
}
