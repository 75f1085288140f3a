import ArgumentParser
import Listings
import Postgres

struct AuditCommand: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Show what operators did: who, when, what, why, and to how many jobs. The newest first.",
        discussion: """
            errand audit --since 2h
            errand audit --action pause_queue
            errand audit --job 4711 --json

            Reads the view errand.audit. Times are in UTC.
            """)

    @Option(help: "Actions that changed this job: it is among the first 1,000 of each.")
    var job: Int64?

    @Option(help: "Actions of this name, such as cancel or pause.")
    var action: String?

    @Option(help: "Actions of this login.")
    var who: String?

    @Option(
        help: "Actions since then, such as 2h before now, or 2026-11-22T02:00:00Z.", transform: Since.init(argument:))
    var since: Since?

    @OptionGroup var most: RowCount
    @OptionGroup var output: ListOutput

    var query: Query {
        Query(
            Listing.audit.query(
                where: """
                    ($1::int8 is null or job_ids @> array[$1::int8]) and ($2 is null or action = $2)
                    and ($3 is null or who = $3)
                    and done_at >= coalesce($5, now() + $6 * interval '1 microsecond', '-infinity')
                    """, limit: "$4"),
            [job, action, who, most.count] + Since.parameters(since))
    }
    var none: String { "no such action is on record" }

    static let table = [
        Column("TIME") { $0.done_at.map(inSeconds) }, Column("WHO") { $0.person ?? $0.who }, Column("ACTION", \.action),
        Column("JOBS", \.jobs), Column("REASON", \.reason), Column("TARGET", \.target),
    ]
}
