import Errand
import Postgres

/// Enqueues the removal of objects that are due: originals of stored photos, and what the store refused before. Deletes
/// receipts that were finished 30 days ago.
struct RemovalCleanup: Job {
    static let kind: JobKind = "removal_cleanup"
    static let policy = JobPolicy(priority: 1, retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Needs no store: while that is down, the jobs that remove objects wait, four of them at most.
struct RemovalCleanupHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        /// Whether objects wait to be removed.
        var areObjectsDue = false
        /// Receipts that were deleted.
        var pruned = 0
    }

    static let batchSize = 1_000

    func run(_ job: RemovalCleanup, in context: JobContext) async throws -> Outcome {
        var report = Report()
        report.areObjectsDue = try await context.database.query("select media.enqueue_removals_v1()").scalar(Bool.self)
        // Bounded: the next run does the rest.
        for _ in 1...20 {
            try Task.checkCancellation()
            let gone = try await context.database.query(
                Statement("select media.prune_v1($1::int4)", [Self.batchSize])
            ).scalar(Int.self)
            report.pruned += gone
            if gone < Self.batchSize { break }
        }
        return try .done(report)
    }
}
