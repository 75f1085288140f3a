import Errand
import Postgres

/// Marks invites whose 24 hours are over, in batches of 5,000, and deletes those that ended 30 days ago.
///
/// Nothing depends on the mark: `pairing.redeem_invite` checks the clock.
struct InviteExpiry: Job {
    static let kind: JobKind = "invite_expiry"
    static let policy = JobPolicy(priority: 1, retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Each batch is a transaction of its own, so that a failed attempt keeps its progress, and locks are short.
struct InviteExpiryHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        var expired = 0
        var pruned = 0
    }

    static let batchSize = 5_000

    func run(_ job: InviteExpiry, in context: JobContext) async throws -> Outcome {
        var report = Report()
        report.expired = try await expire(in: context)
        report.pruned = try await prune(in: context)
        return try .done(report)
    }

    private func expire(in context: JobContext) async throws -> Int {
        var expired = 0
        var (time, id) = (Timestamp.minusInfinity, Int64(0))
        while true {
            try Task.checkCancellation()
            let rows = try await context.database.query(
                Statement(
                    """
                    select marked, coalesce(through, 'infinity'), coalesce(through_id, 0)
                    from pairing.expire_due_v1($1, $2, $3::int4)
                    """, [time, id, Self.batchSize]))
            let (marked, through, throughID) = try rows[0].decode(Int.self, Timestamp.self, Int64.self)
            expired += marked
            guard marked == Self.batchSize else { return expired }
            (time, id) = (through, throughID)
        }
    }

    /// Bounded, so that many rows don't delay the next expiry: the next run does the rest.
    private func prune(in context: JobContext) async throws -> Int {
        var pruned = 0
        for _ in 1...20 {
            try Task.checkCancellation()
            let gone = try await context.database.query("select pairing.prune_invites_v1(1000)").scalar(Int.self)
            pruned += gone
            if gone == 0 { break }
        }
        return pruned
    }
}
