import Errand
import Postgres

/// Draws free virtual numbers ahead, until the pool is full.
///
/// No user depends on it: `identity.assign` draws a number itself if the pool is empty.
struct NumberPool: Job {
    static let kind: JobKind = "number_pool"
    static let policy = JobPolicy(retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Each batch is a transaction of its own, so that a failed attempt keeps its progress.
struct NumberPoolHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        /// Numbers that were drawn; 0 if the pool was full.
        var drawn = 0
    }

    static let batchSize = 5_000
    /// As many as the largest pool needs. Users who take numbers meanwhile don't prolong the run.
    static let batches = 200

    func run(_ job: NumberPool, in context: JobContext) async throws -> Outcome {
        var report = Report()
        for _ in 1...Self.batches {
            try Task.checkCancellation()
            let drawn = try await context.database.query(
                Statement("select identity.fill_pool_v1($1::int4)", [Self.batchSize])
            ).scalar(Int.self)
            report.drawn += drawn
            if drawn < Self.batchSize { break }
        }
        return try .done(report)
    }
}
