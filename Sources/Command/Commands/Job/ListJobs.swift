import ArgumentParser
import Foundation
import Postgres

struct ListJobs: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show jobs, the newest first. Options are combined with AND.",
        discussion: """
            errand job list --state failed --error NoSuchBucket --count 100 --json
            errand job list --kind image_compression --since 2h
            errand job list --kind image_compression --state failed --count 100000 --csv > failed.csv

            Reads the view errand.jobs. TIME (UTC) is when a job is due, was started, or has ended. With millions of ended \
            jobs, --state makes the query faster.
            """)

    @OptionGroup var filter: JobFilter

    @Option(
        help: "Jobs that were enqueued or have ended since, such as 2h before now, or 2026-11-22T02:00:00Z.",
        transform: Since.init(argument:))
    var since: Since?

    @Option(help: "Jobs that have ended since then.", transform: Since.init(argument:))
    var endedSince: Since?

    @Option(help: "How many at most, 1 to 100000.")
    var count = 20

    @OptionGroup var output: ListOutput

    func validate() throws {
        guard (1...100_000).contains(count) else {
            throw ValidationError("--count: expected 1 to 100000, got \(count)")
        }
    }

    // With the state as a constant the planner skips tables that can't have it.
    var query: Query {
        Query(
            """
            select id, queue, kind, state, priority, attempt, max_attempts, run_at, started_at, finished_at,
                coalesce(reason, attempts -> -1 ->> 'error', waiting_for) as reason
            from errand.jobs
            where ($1 is null or queue = $1) and ($2 is null or kind = $2) and ($3 is null or state = $3)
                and ($4 is null or tags @> array[$4]) and ($5 is null or unique_key = $5)
                and ($6 is null or limit_key = $6)
                and ($7 is null or strpos(coalesce(reason, attempts -> -1 ->> 'error'), $7) > 0)
                and (
                    $9 is null and $10 is null
                    or finished_at >= coalesce($9, now() + $10 * interval '1 microsecond')
                    or finished_at is null and created_at >= coalesce($9, now() + $10 * interval '1 microsecond'))
                and (
                    $11 is null and $12 is null
                    or finished_at >= coalesce($11, now() + $12 * interval '1 microsecond'))
            order by id desc
            limit $8
            """,
            [
                filter.queue, filter.kind, filter.state, filter.tag, filter.uniqueKey, filter.limitKey, filter.error,
                count,
            ] + Since.parameters(since) + Since.parameters(endedSince))
    }
    var none: String { "no such job exists" }

    static let table = [
        Column("ID", \.id), Column("KIND", \.kind), Column("QUEUE", \.queue), Column("STATE", \.state),
        Column("ATTEMPT") { "\($0.attempt ?? "")/\($0.max_attempts ?? "")" }, time, Column("REASON", \.reason),
    ]
    private static let time = Column("TIME") { row in
        (row.finished_at ?? (row.state == "running" ? row.started_at : nil) ?? row.run_at).map(inSeconds)
    }

    func explainNone(on connection: Connection) async throws { try await filter.hintAtNames(on: connection) }
}
