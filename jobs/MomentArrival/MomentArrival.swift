import Errand
import Foundation
import Postgres

/// Makes a stored moment its sender's current one, and removes the ones that it replaces.
///
/// Most moments need no such job: the transaction that records their storing does this. It enqueues the job if another
/// transaction is changing the pair's moments, since it must not wait for that one.
struct MomentArrival: Job {
    static let kind: JobKind = "moment_arrival"
    static let policy = JobPolicy(retry: .exponential(attempts: 10, first: .seconds(1)))

    /// The moment's id, which is that of its photo.
    var moment: UUID
}

/// Idempotent: all is in one transaction of the database, and a second run finds nothing to do.
struct MomentArrivalHandler: JobHandler {
    func run(_ job: MomentArrival, in context: JobContext) async throws -> Outcome {
        let state = try await context.database.query(
            Statement("select moments.arrive_v1($1)", [job.moment])
        ).scalar(String.self)
        return try .done(["state": state])
    }
}
