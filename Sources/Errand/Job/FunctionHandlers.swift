import Logging
import Postgres

/// The kinds whose handler is a SQL function (`errand.put_handler`), and the connections that call them.
///
/// What a function does and the completion of its job are one commit: `errand_internal.run_handler_v1`.
package final class FunctionHandlers: Sendable {
    /// Of their own, since a function may leave its session in any state.
    private let database: Database
    /// Ends the sessions of functions that don't stop when they are cancelled.
    private let control: Database

    package init(database: Database, control: Database) {
        self.database = database
        self.control = control
    }

    /// The handler of a kind.
    ///
    /// - Parameter timeout: the longest that a call may take, in milliseconds.
    func entry(timeout: Int64) -> Handlers.Entry {
        // A job is as many calls as its function wants.
        Handlers.Entry(policy: JobPolicy(deadline: .seconds(365 * 86_400))) { [self] job, context in
            try await run(job, in: context, timeout: .milliseconds(timeout))
        }
    }

    private func run(_ job: ClaimedJob, in context: JobContext, timeout: Duration) async throws -> Outcome {
        while true {
            try Task.checkCancellation()
            let ticket = context.environment.commits.begin()
            let reply: CallReply
            let start = ContinuousClock.now
            do {
                reply = try await call(job, timeout: timeout)
            } catch {
                context.environment.commits.end(ticket)
                guard context.interruption == nil, let error = error as? PostgresError else { throw error }
                return try outcome(after: error, within: .now - start, timeout: timeout)
            }
            if let completion = reply.completion(of: job, ticket: ticket) {
                context.control.committed = completion
                return .done
            }
            context.environment.commits.end(ticket)
            switch reply.state {
            case "again": continue
            case "locked": return .snooze(for: .seconds(1))
            default: throw CompletionRefused(isUnwanted: false)
            }
        }
    }

    /// Nothing is written, or it isn't known. If it is, this outcome is refused.
    private func outcome(after error: PostgresError, within took: Duration, timeout: Duration) throws -> Outcome {
        // Without a reply after its timeout, the function has caught its cancellation.
        if error.isStatementTimeout || error.isOutcomeUnknown && took > timeout + Self.closeDelay / 2 {
            return .retry(
                after: nil, reason: "deadline of \(timeout) exceeded by one call of its function",
                cause: "deadline exceeded")
        }
        guard error.isTransient || error.isOutcomeUnknown else { throw error }
        return .snooze(for: .seconds(1))
    }
}

// MARK: - One call
extension FunctionHandlers {
    /// After its timeout a call is cancelled by the server. If the function catches that, its session is ended.
    private static let closeDelay: Duration = .seconds(5)

    private func call(_ job: ClaimedJob, timeout: Duration) async throws -> CallReply {
        // Numbers in its text, so that its session is found by it.
        let text = "select * from errand_internal.run_handler_v1(\(job.workerID), \(job.id), \(job.position))"
        return try await database.withConnection { connection in
            let result: Result<Rows, PostgresError>
            do throws(PostgresError) {
                let limit = Statement(
                    "select set_config('statement_timeout', $1, true)", ["\(max(1, timeout.wholeMilliseconds))"])
                let results = try await connection.pipeline(
                    [limit, Statement(text)], deadline: timeout + Self.closeDelay)
                result = .success(results[1])
            } catch {
                if error.isOutcomeUnknown { try? await end(text) }
                result = .failure(error)
            }
            do {
                try await connection.reset()
            } catch {
                // A session in an unknown state serves nobody else. A closed connection is replaced.
                await connection.close()
            }
            return try CallReply(result.get())
        }
    }

    private func end(_ text: String) async throws {
        try await control.execute(
            Statement(
                """
                select pg_terminate_backend(pid, 1000)
                from pg_stat_activity
                where usename = current_user and query = $1 and state = 'active' and pid <> pg_backend_pid()
                """, [text]))
    }
}

/// What errand_internal.run_handler_v1 returns.
private struct CallReply {
    let state: String
    let outcome: AttemptOutcome?
    let error: String?
    let cause: String?
    let transaction: Int64?
    let errorID: String?

    init(_ rows: Rows) throws {
        let (state, outcome, error, cause, transaction, errorID) = try rows.row(of: "errand_internal.run_handler_v1")
            .decode(String.self, String?.self, String?.self, String?.self, Int64?.self, String?.self)
        self.state = state
        self.outcome = outcome.flatMap(AttemptOutcome.init(rawValue:))
        self.error = error
        self.cause = cause
        self.transaction = transaction
        self.errorID = errorID
    }

    /// Nil if the job isn't completed.
    func completion(of job: ClaimedJob, ticket: CommitTicket) -> Completion? {
        guard state == "completed", let outcome, let transaction else { return nil }
        return Completion(job: job, outcome: outcome, error: error).caused(by: cause)
            .committed(in: .init(transaction: transaction, errorID: errorID, ticket: ticket))
    }
}
