import Errand
import Logging
import Postgres

/// Repairs activities without a job for their end, ends those whose 8 hours are over, and deletes those that ended 30
/// days ago.
struct ActivityCleanup: Job {
    static let kind: JobKind = "activity_cleanup"
    static let policy = JobPolicy(deadline: .seconds(60), retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Each batch is a transaction of its own, so that a failed attempt keeps its progress.
struct ActivityCleanupHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        var fixed = 0
        var closed = 0
        var pruned = 0
    }

    static let batchSize = 1_000

    func run(_ job: ActivityCleanup, in context: JobContext) async throws -> Outcome {
        var report = Report()
        // Bounded: the next run does the rest.
        for _ in 1...20 {
            try Task.checkCancellation()
            let rows = try await context.database.query(
                Statement("select fixed, closed from activity.clean_up_v1($1::int4)", [Self.batchSize]))
            let (fixed, closed) = try rows[0].decode(Int.self, Int.self)
            report.fixed += fixed
            report.closed += closed
            if max(fixed, closed) < Self.batchSize { break }
        }
        for _ in 1...20 {
            try Task.checkCancellation()
            let gone = try await context.database.query(
                Statement("select activity.prune_v1($1::int4)", [Self.batchSize])
            ).scalar(Int.self)
            report.pruned += gone
            if gone < Self.batchSize { break }
        }
        if report.fixed > 0 {
            context.logger.warning(
                "activities had no job for their end", metadata: ["fixed": .stringConvertible(report.fixed)])
        }
        return try .done(report)
    }
}
