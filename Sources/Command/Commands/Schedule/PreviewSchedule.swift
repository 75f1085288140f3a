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
            errand schedule preview quote_of_the_day

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
        let ticks =
            if let name {
                try await ScheduleCommand.withSchedule(name) { try await coming(of: name, on: $0) }
            } else {
                try await Environment.load().withConnection { try await coming(of: nil, on: $0) }
            }
        if json { return print(try Command.json(ticks)) }
        var table = TextTable(head: ["UTC", "LOCAL", "NOTE"], whole: ["UTC", "LOCAL", "NOTE"])
        for tick in ticks { table.add(tick.utc, tick.local, tick.note) }
        print(table)
    }

    /// A tick to come, as people and programs read it.
    private struct Tick: Encodable, Sendable {
        /// `2026-10-25T00:30:00Z`
        let utc: String
        /// `2026-10-25T02:30:00+02:00`
        let local: String
        /// A note for a tick near a change of clocks; nil otherwise.
        let note: String?
    }

    /// Nil if `--after` isn't given, or is no time.
    private var start: Timestamp? {
        after.flatMap { try? Date($0, strategy: .iso8601) }.map { Timestamp($0) }
    }

    private func coming(of name: String?, on connection: Connection) async throws -> [Tick] {
        let call =
            name == nil
            ? "errand.next_ticks($1, $2, coalesce($3, now()), $4::int4)"
            : "errand.preview_schedule($1, $4::int4, coalesce($3, now()))"
        // A fraction of a second is shown only where there is one, and so are the seconds of an offset.
        let rows = try await connection.query(
            Statement(
                """
                select
                    regexp_replace(to_char(utc, shape), '\\.0+$', '') || 'Z',
                    regexp_replace(to_char(local, shape), '\\.0+$', '')
                        || case when local < utc then '-' else '+' end
                        || regexp_replace(to_char(greatest(local - utc, utc - local), 'HH24:MI:SS'), ':00$', ''),
                    note
                from (
                    select tick at time zone 'UTC' as utc, local, note, 'YYYY-MM-DD"T"HH24:MI:SS.US' as shape
                    from \(call)
                    -- Both calls get all arguments.
                    where $2::text is not null
                ) as coming
                """,
                [name ?? cron, timeZone, start, count]))
        return try rows.map { row in
            let (utc, local, note) = try row.decode(String.self, String.self, String?.self)
            return Tick(utc: utc, local: local, note: note)
        }
    }
}
