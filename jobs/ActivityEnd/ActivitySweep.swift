import Errand
import Logging
import Postgres

/// Gives activities a job for their end that have lost it, ends those whose 8 hours are over, and deletes those that were over
/// 30 days ago.
struct ActivitySweep: Job {
    static let kind: JobKind = "activity_sweep"
    static let policy = JobPolicy(deadline: .seconds(60), retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Each set is a transaction of its own, so that what an attempt has done stays done.
struct ActivitySweepHandler: JobHandler {
    /// What a run has done, kept with its job.
    struct Report: Codable, Equatable {
        var mended = 0
        var closed = 0
        var forgotten = 0
    }

    static let setSize = 1_000

    func run(_ job: ActivitySweep, in context: JobContext) async throws -> Outcome {
        var report = Report()
        // Bounded: the rest is for the next run.
        for _ in 1...20 {
            try Task.checkCancellation()
            let rows = try await context.database.query(
                Statement("select fixed, closed from activity.sweep_v1($1::int4)", [Self.setSize]))
            let (mended, closed) = try rows[0].decode(Int.self, Int.self)
            report.mended += mended
            report.closed += closed
            if max(mended, closed) < Self.setSize { break }
        }
        for _ in 1...20 {
            try Task.checkCancellation()
            let gone = try await context.database.query(
                Statement("select activity.prune_v1($1::int4)", [Self.setSize])
            ).scalar(Int.self)
            report.forgotten += gone
            if gone < Self.setSize { break }
        }
        if report.mended > 0 {
            context.logger.warning("activities had no job for their end", metadata: ["mended": "\(report.mended)"])
        }
        return try .done(report)
    }
}
