import Postgres

/// The end of an attempt, ready to be written: the job with its fence, and what is to become of it.
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

    /// Nil unless the handler's own transaction has written it.
    var commit: HandlerCommit? { result.commit }

    /// Whether a job may become due with it that no wake-up announces: itself, or one that waits for its limit.
    var mayLeaveDueJob: Bool { commit != nil || !outcome.endsJob || job.options?.limitKey != nil }

    /// The limits that it leaves a slot of.
    static func limitKeys(of completions: [Completion]) -> [String] { completions.compactMap(\.job.options?.limitKey) }
}
