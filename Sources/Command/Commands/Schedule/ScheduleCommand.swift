import ArgumentParser
import Foundation
import Postgres

struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Schedules: list them, see their ticks, put one, run one now, pause, resume, except, drop.",
        discussion: """
            errand schedule preview --cron '30 2 * * *' --time-zone Europe/Paris
            errand schedule run daily_report --reason 'the first one had a typo'

            Schedules are defined by the program, or by `errand schedule put` and errand.put_schedule.
            """,
        subcommands: [
            ListSchedules.self, PreviewSchedule.self, ScheduleTicks.self, PutSchedule.self, RunSchedule.self,
            PauseSchedule.self, ResumeSchedule.self, ExceptSchedule.self, DropSchedule.self,
        ])
}

/// The schedule that a command changes.
struct ScheduleName: ParsableArguments {
    @Argument(help: "The schedule's name.", completion: .schedules)
    var name: String

    var subject: Subject { .named(name, as: "schedule") }

    /// Calls a function of schedules. An unknown name is answered with the most similar one.
    @discardableResult
    func call<T: PostgresDecodable>(
        _ call: String, _ arguments: [any PostgresEncodable] = [], on connection: Connection, as type: T.Type
    ) async throws -> T {
        try await Names.schedules.require(name, on: connection)
        return try await connection.call(call, [name] + arguments, as: type)
    }
}

struct RunSchedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Enqueue a job of a schedule now, beside its ticks; also while it is paused.",
        discussion: "Prints the job's id. errand.schedule_ticks records the job with the reason.")

    @OptionGroup var schedule: ScheduleName
    @OptionGroup var reason: Reason

    @Flag(help: "Print {\"schedule\", \"job_id\"}.")
    var json = false

    struct Response: Encodable {
        let schedule: String
        let job_id: Int64
    }

    func run() async throws {
        let id = try await Environment.load().withConnection { connection in
            try await schedule.call("errand.run_schedule($1, $2)", [reason.text], on: connection, as: Int64.self)
        }
        print(try json ? Command.json(Response(schedule: schedule.name, job_id: id)) : "\(id)")
    }
}

struct PauseSchedule: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause a schedule: it enqueues nothing until it is resumed. Its enqueued jobs stay.")

    @OptionGroup var schedule: ScheduleName
    @OptionGroup var reason: Reason
    @OptionGroup var output: ActionOutput

    var subject: Subject { schedule.subject }

    func act(on connection: Connection) async throws -> Done {
        try await schedule.call("errand.pause_schedule($1, $2)::text", [reason.text], on: connection, as: String.self)
        return Done("paused")
    }
}

struct ResumeSchedule: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let a paused schedule tick again, from now on.")

    @OptionGroup var schedule: ScheduleName
    @OptionGroup var output: ActionOutput

    var subject: Subject { schedule.subject }

    func act(on connection: Connection) async throws -> Done {
        try await schedule.call("errand.resume_schedule($1)::text", on: connection, as: String.self)
        return Done("resumed")
    }
}

struct ExceptSchedule: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "except",
        abstract: "Let a schedule have no tick on a day of its clock.",
        discussion: """
            errand schedule except daily_report 2026-12-24 --reason 'closed'
            errand schedule except daily_report 2026-12-24 --drop

            `errand schedule preview` shows such days, and `errand schedule ticks` what would have ticked.
            """)

    @OptionGroup var schedule: ScheduleName

    @Argument(help: "The day, such as 2026-12-24.")
    var day: String

    @Option(help: "Why there is no tick.")
    var reason: String?

    @Flag(help: "Let it tick on that day again.")
    var drop = false

    @OptionGroup var output: ActionOutput

    var subject: Subject { schedule.subject }

    func validate() throws {
        guard (try? Date(day, strategy: .iso8601.year().month().day())) != nil else {
            throw ValidationError("day: expected a day such as 2026-12-24, got '\(day.printable)'")
        }
        guard (reason != nil) != drop else {
            throw ValidationError("--reason, --drop: expected one of them, got \(drop ? "both" : "none")")
        }
    }

    func act(on connection: Connection) async throws -> Done {
        if drop {
            try await schedule.call(
                "errand.drop_schedule_exception($1, $2::date)::text", [day], on: connection, as: String.self)
            return Done("ticks on \(day)")
        }
        try await schedule.call(
            "errand.put_schedule_exception($1, $2::date, $3)::text", [day, reason], on: connection, as: String.self)
        return Done("no tick on \(day)")
    }
}

struct DropSchedule: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Remove a schedule. Its enqueued jobs and recorded ticks stay.",
        discussion: "A schedule that the program defines comes back at its next start: pause it instead.")

    @OptionGroup var schedule: ScheduleName
    @OptionGroup var output: ActionOutput

    var subject: Subject { schedule.subject }

    func act(on connection: Connection) async throws -> Done {
        try await schedule.call("errand.drop_schedule($1)::text", on: connection, as: String.self)
        return Done("dropped")
    }
}
