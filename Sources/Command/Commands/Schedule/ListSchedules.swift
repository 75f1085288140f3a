import ArgumentParser
import Foundation
import Postgres

struct ListSchedules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show all schedules: last tick, next tick and problems.",
        discussion: "Reads the view errand.schedules. Times are in UTC.")

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Encodable {
        let name: String
        let cron: String
        let time_zone: String
        let kind: String
        let last_tick: String?
        let last_outcome: String?
        let last_job_id: Int64?
        let next_tick: String?
        let problem: String?
        let paused_reason: String?
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            try await connection.query(
                """
                select name, cron, time_zone, kind, to_char(last_tick at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                    last_outcome, last_job_id, to_char(next_tick at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), problem,
                    case when paused_at is not null then coalesce(paused_reason, 'no reason given') end
                from errand.schedules
                order by name
                """
            )
            .map { row in
                let (name, cron, zone, kind, last, outcome, job, next, problem, paused) = try row.decode(
                    String.self, String.self, String.self, String.self, String?.self, String?.self, Int64?.self,
                    String?.self, String?.self, String?.self)
                return Line(
                    name: name, cron: cron, time_zone: zone, kind: kind, last_tick: last, last_outcome: outcome,
                    last_job_id: job, next_tick: next, problem: problem, paused_reason: paused)
            }
        }
        if json { return print(try Command.json(lines)) }
        var table = TextTable(
            head: ["NAME", "CRON", "ZONE", "LAST TICK", "OUTCOME", "NEXT TICK", ""], whole: ["LAST TICK", "NEXT TICK"])
        for line in lines {
            table.add(
                line.name, line.cron, line.time_zone, line.last_tick, line.last_outcome, line.next_tick,
                line.problem ?? line.paused_reason.map { "paused: \($0)" })
        }
        print(lines.isEmpty ? "there are no schedules" : table.description)
    }
}

struct ScheduleTicks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ticks",
        abstract: "Show the last ticks of a schedule with their outcomes.",
        discussion: "Reads the view errand.schedule_ticks, which holds a week. The newest comes first.")

    @Argument(help: "The schedule's name.", completion: .schedules)
    var name: String

    @Option(help: "How many ticks, 1 to 10000.")
    var count = 20

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Encodable {
        let tick: String
        let local: String
        let outcome: String
        let job_id: Int64?
        let lateness_seconds: Double?
        let reason: String?
    }

    func validate() throws {
        guard (1...10_000).contains(count) else { throw ValidationError("--count: expected 1 to 10000, got \(count)") }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            try await connection.query(
                Statement(
                    """
                    select to_char(tick at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                        to_char(local, 'YYYY-MM-DD"T"HH24:MI:SS'), outcome, job_id, extract(epoch from lateness)::float8,
                        reason
                    from errand.schedule_ticks
                    where schedule = $1
                    order by tick desc
                    limit $2
                    """, [name, count])
            )
            .map { row in
                let (tick, local, outcome, job, lateness, reason) = try row.decode(
                    String.self, String.self, String.self, Int64?.self, Double?.self, String?.self)
                return Line(
                    tick: tick, local: local, outcome: outcome, job_id: job, lateness_seconds: lateness, reason: reason)
            }
        }
        if json { return print(try Command.json(lines)) }
        var table = TextTable(
            head: ["TICK (UTC)", "LOCAL", "OUTCOME", "JOB", "LATE BY", "REASON"], whole: ["TICK (UTC)", "LOCAL", "JOB"])
        for line in lines {
            table.add(
                line.tick, line.local, line.outcome, line.job_id.map { "\($0)" },
                line.lateness_seconds.map { String(format: "%.3f s", $0) }, line.reason)
        }
        print(lines.isEmpty ? "no tick of '\(name.printable)' is on record" : table.description)
    }
}
