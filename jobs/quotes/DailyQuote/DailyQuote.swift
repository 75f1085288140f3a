import Errand
import Postgres

/// Enqueues the pushes of the quote of the day that are due, each subscriber's at a local time of its own.
///
/// `sql/apps/quotes/functions/due_push.sql` decides about each push. A run that comes late changes no local day.
struct DailyQuote: Job {
    static let kind: JobKind = "daily_quote"
    static let policy = JobPolicy(
        priority: 1, deadline: .seconds(90), retry: .exponential(attempts: 3, first: .seconds(1)))
}

/// Each batch is a transaction of its own, so that a failed attempt keeps its progress, and a user who stops the push
/// waits for one batch at most. Concurrent runs push to different subscribers.
struct DailyQuoteHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        var pushed = 0
        /// Subscriptions whose missed local day was over.
        var skipped = 0
        /// Ended subscriptions that were deleted.
        var pruned = 0
        /// Whether the time was over before the work. Then the next run continues.
        var isMoreDue = false
    }

    var batchSize = 5_000
    /// For the batches of a run. Runs begin every 15 s, so four push at once while a million subscribers are due.
    var time: Duration = .seconds(50)

    func run(_ job: DailyQuote, in context: JobContext) async throws -> Outcome {
        var report = Report()
        try await push(in: context, &report)
        if !report.isMoreDue {
            report.pruned = try await context.database.query("select quotes.prune_subscriptions_v1()").scalar(Int.self)
            try await context.database.execute("select quotes.count_subscriptions_v1()")
        }
        return try .done(report)
    }

    private func push(in context: JobContext, _ report: inout Report) async throws {
        let start = ContinuousClock.now
        var (moment, id) = (Timestamp.minusInfinity, Int64(0))
        while true {
            try Task.checkCancellation()
            let rows = try await context.database.query(
                Statement(
                    """
                    select taken, pushed, coalesce(through, 'infinity'), coalesce(through_id, 0)
                    from quotes.send_due_v1($1::int4, $2, $3)
                    """, [batchSize, moment, id]))
            let (taken, pushed, through, throughID) = try rows[0].decode(Int.self, Int.self, Timestamp.self, Int64.self)
            report.pushed += pushed
            report.skipped += taken - pushed
            guard taken == batchSize else { return }
            (moment, id) = (through, throughID)
            report.isMoreDue = ContinuousClock.now - start >= time
            if report.isMoreDue { return }
        }
    }
}
