import Errand
import Postgres

/// Writes down whose days the quotes are, from yesterday to 8 days ahead.
///
/// Which quote is whose day's is a rule, in `sql/apps/quotes/functions/cycle_order.sql`: a run that comes late writes the same.
struct QuoteRotation: Job {
    static let kind: JobKind = "quote_rotation"
    static let policy = JobPolicy(deadline: .seconds(60), retry: .exponential(attempts: 5, first: .seconds(1)))
}

struct QuoteRotationHandler: JobHandler {
    /// What a run has done, kept with its job.
    struct Report: Codable, Equatable {
        /// Days whose quote was written; 0 where all were there.
        var written: Int
    }

    func run(_ job: QuoteRotation, in context: JobContext) async throws -> Outcome {
        let written = try await context.database.query("select quotes.rotate_v1()").scalar(Int.self)
        return try .done(Report(written: written))
    }
}
