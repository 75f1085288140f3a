import Postgres

/// The completion of an attempt, ready to be written: the job with its fencing position, and the result.
package struct Completion: Sendable {
    package let job: ClaimedJob
    package var result: AttemptResult
    /// From start to end, by the worker's clock.
    package let took: Duration

    package init(job: ClaimedJob, result: AttemptResult, took: Duration) {
        self.job = job
        self.result = result
        self.took = took
    }
}

extension Completion {
    package var outcome: AttemptOutcome { result.outcome }

    /// Nil unless the handler's own transaction has written the completion.
    var commit: HandlerCommit? { result.commit }

    /// Whether the completion may make a job due without a wake-up: the job itself, or one that waits for its limit.
    var mayLeaveDueJob: Bool { commit != nil || !outcome.isFinal || job.options?.limitKey != nil }

    /// The limits in which the completions free a slot.
    static func limitKeys(of completions: [Completion]) -> [String] { completions.compactMap(\.job.options?.limitKey) }
}
