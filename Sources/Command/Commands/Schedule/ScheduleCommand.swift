import ArgumentParser
import Foundation
import Postgres

/// `errand schedule …`: what the SQL functions errand.schedule_… do, from a shell.
struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Schedules: list them, see their ticks, put one, run one now, pause, resume, drop.",
        discussion: """
            errand schedule preview --cron '30 2 * * *' --time-zone Europe/Paris
            errand schedule run quote_of_the_day --reason 'the first one had a typo'

            Schedules are defined by the program, or by `errand schedule put` and errand.put_schedule.
            """,
        subcommands: [
            ListSchedules.self, PreviewSchedule.self, ScheduleTicks.self, PutSchedule.self, RunSchedule.self,
            PauseSchedule.self,
            ResumeSchedule.self, DropSchedule.self,
        ])

    /// What the commands that change a schedule print.
    struct Done: Encodable {
        let schedule: String
        let done: String

        func show(asJSON: Bool) throws { print(try asJSON ? Command.json(self) : "\(schedule.printable): \(done)") }
    }

    /// Runs `body` with a connection, if a schedule has this name.
    ///
    /// - Throws: ``Failure`` with the most similar name if none has.
    static func withSchedule<T: Sendable>(_ name: String, _ body: (Connection) async throws -> T) async throws -> T {
        try await Environment.load().withConnection { connection in
            let known = try await connection.query("select name from errand.schedules").column(0, as: String.self)
            guard known.contains(name) else { throw Failure.unknown("schedule", name, among: known) }
            return try await body(connection)
        }
    }
}

struct RunSchedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Enqueue a job of a schedule now, beside its ticks; also while it is paused.",
        discussion: "Prints the job's id. errand.schedule_ticks records the job with the reason.")

    @Argument(help: "The schedule's name.", completion: .schedules)
    var name: String

    @Option(help: "The reason, for the audit.")
    var reason: String

    @Flag(help: "Print {\"schedule\", \"job_id\"}.")
    var json = false

    struct Response: Encodable {
        let schedule: String
        let job_id: Int64
    }

    func run() async throws {
        let id = try await ScheduleCommand.withSchedule(name) { connection in
            try await connection.query(Statement("select errand.run_schedule($1, $2)", [name, reason]))
                .scalar(Int64.self)
        }
        print(try json ? Command.json(Response(schedule: name, job_id: id)) : "\(id)")
    }
}

struct PauseSchedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause a schedule: it enqueues nothing until it is resumed. Its enqueued jobs stay.")

    @Argument(help: "The schedule's name.", completion: .schedules)
    var name: String

    @Option(help: "The reason, shown in errand.schedules.")
    var reason: String

    @Flag(help: "Print {\"schedule\", \"done\"}.")
    var json = false

    func run() async throws {
        try await ScheduleCommand.withSchedule(name) { connection in
            _ = try await connection.execute(Statement("select errand.pause_schedule($1, $2)", [name, reason]))
        }
        try ScheduleCommand.Done(schedule: name, done: "paused").show(asJSON: json)
    }
}

struct ResumeSchedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let a paused schedule tick again, from now on.")

    @Argument(help: "The schedule's name.", completion: .schedules)
    var name: String

    @Flag(help: "Print {\"schedule\", \"done\"}.")
    var json = false

    func run() async throws {
        try await ScheduleCommand.withSchedule(name) { connection in
            _ = try await connection.execute(Statement("select errand.resume_schedule($1)", [name]))
        }
        try ScheduleCommand.Done(schedule: name, done: "resumed").show(asJSON: json)
    }
}

struct DropSchedule: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Remove a schedule. Its enqueued jobs and recorded ticks stay.",
        discussion: "A schedule that the program defines comes back at its next start: pause it instead.")

    @Argument(help: "The schedule's name.", completion: .schedules)
    var name: String

    @Flag(help: "Print {\"schedule\", \"done\"}.")
    var json = false

    func run() async throws {
        try await ScheduleCommand.withSchedule(name) { connection in
            _ = try await connection.execute(Statement("select errand.drop_schedule($1)", [name]))
        }
        try ScheduleCommand.Done(schedule: name, done: "dropped").show(asJSON: json)
    }
}
