import ArgumentParser
import Foundation
import Postgres

struct ListJobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show jobs, the newest first. Options are combined with AND.",
        discussion: """
            errand job list --state failed --error NoSuchBucket --count 100 --json
            errand job list --kind image_compression --since 2h

            Reads the view errand.jobs. TIME (UTC) is when a job is due, was started, or has ended. With millions of ended \
            jobs, --state makes the query faster.
            """)

    @OptionGroup var filter: JobFilter

    @Option(
        help: "Jobs that were enqueued or have ended since, such as 2h before now, or 2026-11-22T02:00:00Z.",
        transform: Since.init(argument:))
    var since: Since?

    @Option(help: "How many at most, 1 to 100000.")
    var count = 20

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Listed {
        let id: Int64
        let queue: String
        let kind: String
        let state: String
        let priority: Int
        let attempt: Int
        let max_attempts: Int
        let run_at: String
        let started_at: String?
        let finished_at: String?
        let reason: String?

        static let head = ["ID", "KIND", "QUEUE", "STATE", "ATTEMPT", "TIME", "REASON"]
        var cells: [String?] {
            let time = finished_at ?? (state == "running" ? started_at : run_at) ?? run_at
            return [
                "\(id)", kind, queue, state, "\(attempt)/\(max_attempts)",
                inSeconds(time), reason,
            ]
        }
    }

    func validate() throws {
        guard (1...100_000).contains(count) else {
            throw ValidationError("--count: expected 1 to 100000, got \(count)")
        }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            // With the state as a constant the planner skips tables that can't have it.
            let rows = try await connection.query(
                Statement(
                    """
                    select id, queue, kind, state, priority, attempt, max_attempts, run_at, started_at, finished_at,
                        coalesce(reason, attempts -> -1 ->> 'error', waiting_for)
                    from errand.jobs
                    where ($1 is null or queue = $1) and ($2 is null or kind = $2) and ($3 is null or state = $3)
                        and ($4 is null or tags @> array[$4]) and ($5 is null or unique_key = $5)
                        and ($6 is null or limit_key = $6)
                        and ($7 is null or strpos(coalesce(reason, attempts -> -1 ->> 'error'), $7) > 0)
                        and (
                            $9 is null and $10 is null
                            or finished_at >= coalesce($9, now() + $10 * interval '1 microsecond')
                            or finished_at is null
                                and created_at >= coalesce($9, now() + $10 * interval '1 microsecond'))
                    order by id desc
                    limit $8
                    """,
                    [
                        filter.queue, filter.kind, filter.state, filter.tag, filter.uniqueKey, filter.limitKey,
                        filter.error, count,
                    ] + Since.parameters(since)))
            if rows.isEmpty { try await filter.hintAtNames(on: connection) }
            return try rows.map(Self.line)
        }
        try show(lines, asJSON: json, none: "no such job exists")
    }

    private static func line(_ row: Row) throws -> Line {
        let (id, queue, kind, state, priority, attempt, most, due, started, finished, reason) = try row.decode(
            Int64.self, String.self, String.self, String.self, Int.self, Int.self, Int.self, Timestamp.self,
            Timestamp?.self, Timestamp?.self, String?.self)
        return Line(
            id: id, queue: queue, kind: kind, state: state, priority: priority, attempt: attempt, max_attempts: most,
            run_at: due.description, started_at: started?.description, finished_at: finished?.description,
            reason: reason)
    }
}
