import Postgres

/// How one attempt has ended, for tests to read.
package struct AttemptEnd: Sendable {
    package let job: Int64
    package let kind: JobKind
    package let queue: String
    package let attempt: Int
    package let outcome: AttemptOutcome
    /// What went wrong, or why it was cancelled or parked.
    package var error: String?
    /// What the handler answered.
    package let output: JSONB?
    package let took: Duration

    init(_ completion: Completion) {
        job = completion.job.id
        kind = completion.job.kind
        queue = completion.job.queue
        attempt = completion.job.attempt
        outcome = completion.outcome
        error = completion.result.error
        output = completion.result.output
        took = completion.took
    }
}
