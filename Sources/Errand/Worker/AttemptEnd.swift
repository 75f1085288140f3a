import Postgres

/// How one attempt has ended, for tests to read.
package struct AttemptEnd: Sendable {
    package let job: Int64
    package let kind: JobKind
    package let queue: String
    package let attempt: Int
    /// The word that errand.settle_v2 has for it.
    package var outcome: String
    /// What went wrong, or why it was cancelled or parked.
    package var error: String?
    /// What the handler answered.
    package let output: JSONB?
    package let took: Duration

    init(_ settlement: Settlement) {
        job = settlement.job.id
        kind = settlement.job.kind
        queue = settlement.job.queue
        attempt = settlement.job.attempt
        outcome = settlement.outcome
        error = settlement.error
        output = settlement.output
        took = settlement.took
    }
}
