import Foundation
import Postgres

/// The steps that attempts of a job have recorded.
struct JobSteps {
    struct Row: Decodable {
        /// Nil for those who don't read content.
        let name: String?
        let recordedAt: Moment
        let output: String?
        /// Whether its output is too large for the page.
        let isLarge: Bool
        let steps: Int
    }

    struct Step {
        let name: String
        let recorded: ShownTime?
        let attempt: Int
        let output: String?
        let isLarge: Bool
    }

    let steps: [Step]
    let hasSteps: Bool
    let title: String

    /// The newest first.
    static func query(of id: Int64) -> Query {
        Query(
            """
            select
                name, recorded_at,
                case
                    when pg_column_size(output) <= 4000
                        then left(jsonb_pretty(errand.mask_secrets(output)), 4000)
                end as output,
                coalesce(pg_column_size(output) > 4000, false) as is_large, count(*) over () as steps
            from errand.job_steps
            where job_id = $1
            order by recorded_at desc, name desc
            limit 50
            """, [id])
    }

    /// - Parameters:
    ///   - attempts: those that have ended without success, the last one first.
    ///   - attempt: the number of the latest one.
    init(_ rows: [Row], attempts: [JobPage.AttemptRow], attempt: Int, now: Date) {
        steps = rows.reversed().map { row in
            Step(
                name: row.name ?? "a step", recorded: ShownTime(row.recordedAt, now: now),
                attempt: Self.attempt(at: row.recordedAt, attempts, latest: attempt), output: row.output,
                isLarge: row.isLarge)
        }
        hasSteps = !rows.isEmpty
        let total = rows.first?.steps ?? 0
        title = total > rows.count ? "The last \(rows.count) of \(Amount.count(total)) steps" : "Steps"
    }

    /// The first attempt that ended after that time, else the latest one. A snooze ends none.
    private static func attempt(at moment: Moment, _ attempts: [JobPage.AttemptRow], latest: Int) -> Int {
        let ended = attempts.last { attempt in
            guard let end = attempt.endedAt?.date, let time = moment.date else { return false }
            return end >= time
        }
        return ended?.attempt ?? max(1, latest)
    }
}
