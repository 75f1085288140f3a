import Errand
import Postgres

/// Records the quote of each day, from yesterday to 8 days ahead.
///
/// A rule in `sql/apps/quotes/functions/cycle_order.sql` determines the quote of each day, so a late run writes the
/// same.
struct QuoteRotation: Job {
    static let kind: JobKind = "quote_rotation"
    static let policy = JobPolicy(deadline: .seconds(60), retry: .exponential(attempts: 5, first: .seconds(1)))
}

struct QuoteRotationHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        /// Days whose quote was written; 0 if all existed.
        var written: Int
    }

    func run(_ job: QuoteRotation, in context: JobContext) async throws -> Outcome {
        let written = try await context.database.query("select quotes.rotate_v1()").scalar(Int.self)
        return try .done(Report(written: written))
    }
}
