import Errand
import Postgres

/// Ends deliveries that are too late, and deletes notifications that were sent 30 days ago.
struct NotificationCleanup: Job {
    static let kind: JobKind = "notification_cleanup"
    static let policy = JobPolicy(deadline: .seconds(60), retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Each batch is a transaction of its own, so that a failed attempt keeps its progress.
struct NotificationCleanupHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        /// Deliveries that were too late.
        var expired = 0
        /// Batches of old rows.
        var batches = 0
    }

    static let batchSize = 1_000

    func run(_ job: NotificationCleanup, in context: JobContext) async throws -> Outcome {
        var report = Report()
        // Bounded: the next run does the rest.
        for _ in 1...100 {
            try Task.checkCancellation()
            let late = try await number("select notify.expire_v1($1::int4)", in: context)
            report.expired += late
            if late < Self.batchSize { break }
        }
        for _ in 1...200 {
            try Task.checkCancellation()
            let gone = try await number("select notify.prune_v1($1::int4)", in: context)
            report.batches += gone > 0 ? 1 : 0
            if gone < Self.batchSize { break }
        }
        return try .done(report)
    }

    private func number(_ sql: String, in context: JobContext) async throws -> Int {
        try await context.database.query(Statement(sql, [Self.batchSize])).scalar(Int.self)
    }
}
