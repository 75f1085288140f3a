import ArgumentParser
import Listings
import Postgres

struct ErrorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errors",
        abstract: "Show failures, grouped by similar errors; with --since, how many before and after that time.",
        discussion: """
            errand errors
            errand errors --since 30m           # since the deploy half an hour ago, against the half hour before it

            Reads the view errand.failures, or calls errand.compare_errors. Failures of jobs that were retried or \
            discarded since are among them for a week.
            """)

    @Option(
        help: "Compare the time since then with as long a time before: 2h before now, or 2026-11-22T02:00:00Z.",
        transform: Since.init(argument:))
    var since: Since?

    @OptionGroup var most: RowCount
    @OptionGroup var output: ListOutput

    private static let last = [
        Column("LAST") { $0.last_at.map(inSeconds) }, Column("JOB", \.last_job_id), Column("ERROR", \.last_error),
    ]
    static let groups =
        [
            Column("KIND", \.kind), Column("QUEUE", \.queue), Column("FAILURES", \.failures),
            Column("1 H", \.failures_1_h),
            Column("ERROR ID", \.error_id),
        ] + last
    private static let changes =
        [Column("KIND", \.kind), Column("QUEUE", \.queue), Column("BEFORE", \.before), Column("AFTER", \.after)] + last

    func run() async throws {
        let query =
            if since == nil {
                Query(Listing.failures.query(limit: "$1"), [most.count])
            } else {
                Query(
                    """
                    select kind, queue, before, after, last_at, last_job_id, last_error
                    from errand.compare_errors(coalesce($2, now() + $3 * interval '1 microsecond'))
                    limit $1
                    """, [most.count] + Since.parameters(since))
            }
        let rows = try await Environment.load().withConnection { try await Fields.read(query, on: $0) }
        try show(
            rows, since == nil ? Self.groups : Self.changes, as: output,
            none: since == nil
                ? "nothing failed within a week" : "nothing failed within that time, nor in as long a time before")
    }
}
