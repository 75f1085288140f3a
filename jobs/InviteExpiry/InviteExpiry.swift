import Errand
import Postgres

/// Marks invites whose 24 hours are over, in sets of 5,000, and deletes those that ended 30 days ago.
///
/// Nothing waits for it: `pairing.redeem_invite` asks the clock.
struct InviteExpiry: Job {
    static let kind: JobKind = "invite_expiry"
    static let policy = JobPolicy(retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Each set is a transaction of its own, so that what an attempt has done stays done, and nobody waits for long.
struct InviteExpiryHandler: JobHandler {
    /// What a run has done, kept with its job.
    struct Report: Codable, Equatable {
        var expired = 0
        var forgotten = 0
    }

    static let setSize = 5_000

    func run(_ job: InviteExpiry, in context: JobContext) async throws -> Outcome {
        var report = Report()
        report.expired = try await expire(in: context)
        report.forgotten = try await forget(in: context)
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
                    """, [time, id, Self.setSize]))
            let (marked, through, throughID) = try rows[0].decode(Int.self, Timestamp.self, Int64.self)
            expired += marked
            guard marked == Self.setSize else { return expired }
            (time, id) = (through, throughID)
        }
    }

    /// Bounded, so that many of them don't hold up the next expiry: the rest is for the next run.
    private func forget(in context: JobContext) async throws -> Int {
        var forgotten = 0
        for _ in 1...20 {
            try Task.checkCancellation()
            let gone = try await context.database.query("select pairing.prune_invites_v1(1000)").scalar(Int.self)
            forgotten += gone
            if gone == 0 { break }
        }
        return forgotten
    }
}
