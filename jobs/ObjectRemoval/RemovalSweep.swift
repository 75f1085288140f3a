import Errand
import Postgres

/// Enqueues the removal of objects that are due: originals of stored photos, and what the store refused before.
struct RemovalSweep: Job {
    static let kind: JobKind = "removal_sweep"
    static let policy = JobPolicy(retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Needs no store: while that is down, the jobs that remove objects wait, four of them at most.
struct RemovalSweepHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        /// Whether objects wait to be removed.
        var areObjectsDue = false
    }

    func run(_ job: RemovalSweep, in context: JobContext) async throws -> Outcome {
        var report = Report()
        report.areObjectsDue = try await context.database.query("select media.enqueue_removals_v1()").scalar(Bool.self)
        return try .done(report)
    }
}
