import ArgumentParser
import Errand
import Foundation
import Postgres

struct PreviewSchedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Show the next ticks of a stored schedule, or of a cron expression without a database.",
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
        if cron != nil { _ = try read() }
    }

    func run() async throws {
        let schedule: Schedule
        let zone: Zone
        if let name {
            (schedule, zone) = try await ScheduleCommand.withSchedule(name) { connection in
                try await stored(name, on: connection)
            }
        } else {
            (schedule, zone) = try read()
        }
        let ticks = schedule.preview(after: start ?? Timestamp(Date()), count: count, in: zone)
        if json { return print(try Command.json(ticks)) }
        var table = TextTable(head: ["UTC", "LOCAL", "NOTE"], whole: ["UTC", "LOCAL", "NOTE"])
        for tick in ticks { table.add(tick.utc, tick.local, tick.note) }
        print(table)
    }

    /// Nil if `--after` isn't given, or is no time.
    private var start: Timestamp? {
        after.flatMap { try? Date($0, strategy: .iso8601) }.map { Timestamp($0) }
    }

    private func read() throws -> (Schedule, Zone) {
        do {
            return (try Schedule(cron ?? "", timeZone: timeZone), try Zone(named: timeZone))
        } catch {
            throw ValidationError("\(error)")
        }
    }

    private func stored(_ name: String, on connection: Connection) async throws -> (Schedule, Zone) {
        let rows = try await connection.query(
            Statement("select cron, time_zone from errand.schedules where name = $1", [name]))
        guard let (cron, timeZone) = try rows.first?.decode(String.self, String.self) else {
            throw Failure(code: Failure.failed, "there is no schedule '\(name)'")
        }
        do {
            return (try Schedule(cron, timeZone: timeZone), try Zone(named: timeZone))
        } catch {
            throw Failure(code: Failure.failed, "schedule '\(name)': \(error)")
        }
    }
}
