import ArgumentParser
import Errand
import Foundation
import Postgres

struct PreviewSchedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Show the next ticks of a stored schedule, or of a cron expression.",
        discussion: """
            errand schedule preview --cron '30 2 * * *' --time-zone Europe/Paris --after 2026-10-24T00:00:00Z --json
            errand schedule preview --cron 'every 90 s' --count 3
            errand schedule preview daily_report

            Ticks near a change of clocks have a note.
            """)

    @Argument(help: "The name of a stored schedule.", completion: .schedules)
    var name: String?

    @Option(help: "A cron expression of five or six fields, @daily and the like, or 'every 30 s'.")
    var cron: String?

    @Option(help: "With --cron: the time zone, as an IANA name.")
    var timeZone = "UTC"

    @Option(help: "From when on, such as 2026-10-24T00:00:00Z. Default: now.")
    var after: String?

    @Option(help: "How many ticks, 1 to 1000.")
    var count = 10

    @Flag(help: "Print a JSON array of {\"utc\", \"local\"} and, where clocks change, \"note\".")
    var json = false

    func validate() throws {
        guard (name == nil) != (cron == nil) else {
            throw ValidationError("NAME, --cron: expected one of them, got \(name == nil ? "none" : "both")")
        }
        guard (1...1000).contains(count) else { throw ValidationError("--count: expected 1 to 1000, got \(count)") }
        if let after, start == nil {
            throw ValidationError("--after: expected a time such as 2026-10-24T00:00:00Z, got '\(after.prefix(100))'")
        }
    }

    func run() async throws {
        let ticks = try await Environment.load().withConnection { connection in
            if let name { try await Names.schedules.require(name, on: connection) }
            return try await Fields.read(query, on: connection)
        }
        show(ticks, Self.table, asJSON: json, none: "it has no tick to come")
    }

    private static let table = [
        Column("UTC", isWhole: true, \.utc), Column("LOCAL", isWhole: true, \.local),
        Column("NOTE", isWhole: true, \.note),
    ]

    /// Nil if `--after` isn't given, or is no time.
    private var start: Timestamp? {
        after.flatMap { try? Date($0, strategy: .iso8601) }.map { Timestamp($0) }
    }

    /// A note is there near a change of clocks. A fraction of a second is shown only where there is one, and so are the
    /// seconds of an offset.
    private var query: Query {
        let call =
            name == nil
            ? "errand.next_ticks($1, $2, coalesce($3, now()), $4::int4)"
            : "errand.preview_schedule($1, $4::int4, coalesce($3, now()))"
        return Query(
            """
            select
                regexp_replace(to_char(utc, shape), '\\.0+$', '') || 'Z' as utc,
                regexp_replace(to_char(local, shape), '\\.0+$', '')
                    || case when local < utc then '-' else '+' end
                    || regexp_replace(to_char(greatest(local - utc, utc - local), 'HH24:MI:SS'), ':00$', '') as local,
                note
            from (
                select tick at time zone 'UTC' as utc, local, note, 'YYYY-MM-DD"T"HH24:MI:SS.US' as shape
                from \(call)
                -- Both calls get all arguments.
                where $2::text is not null
            ) as coming
            """, [name ?? cron, timeZone, start, count])
    }
}
