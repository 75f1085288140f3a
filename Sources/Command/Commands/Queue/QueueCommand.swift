import ArgumentParser
import Postgres

/// `errand queue …`: what the view errand.queues shows, errand.pause_queue and errand.resume_queue.
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Queues: list them, pause and resume one.",
        discussion: """
            errand queue list
            errand queue pause images --reason 'storage is being moved' --until 2h
            errand queue resume images --reason 'storage has moved'
            """,
        subcommands: [ListQueues.self, PauseQueue.self, ResumeQueue.self])

    /// The names of all queues.
    static func names(on connection: Connection) async throws -> [String] {
        try await connection.query("select queue from errand.queues").column(0, as: String.self)
    }
}

struct ListQueues: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show all queues: waiting, running and failed jobs, and whether each is paused.",
        discussion: """
            Reads the view errand.queues. With hundreds of waiting jobs, their number is an estimate (~). OLDEST: how \
            long the longest-waiting job has been due. DONE and ERRORS: within the last 5 minutes.
            """)

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Listed {
        let queue: String
        let waiting: Int
        let running: Int
        let scheduled: Int
        let parked: Int
        let failed: Int
        let is_estimate: Bool
        let oldest_due_seconds: Double?
        let workers: Int
        let succeeded_5_min: Int
        let failed_5_min: Int
        let paused_at: String?
        let paused_until: String?
        let paused_by: String?
        let paused_reason: String?

        static let head = [
            "QUEUE", "WAITING", "RUNNING", "LATER", "PARKED", "FAILED", "OLDEST", "WORKERS", "DONE", "ERRORS", "PAUSED",
        ]
        var cells: [String?] {
            [
                queue, (is_estimate ? "~" : "") + "\(waiting)", "\(running)", "\(scheduled)", "\(parked)", "\(failed)",
                oldest_due_seconds.map(age), "\(workers)", "\(succeeded_5_min)", "\(failed_5_min)",
                paused_at.map { _ in paused_reason ?? "no reason given" },
            ]
        }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            try await connection.query(
                """
                select queue, waiting, running, scheduled, parked, failed, is_estimate,
                    extract(epoch from oldest_age)::float8, workers, succeeded_5_min, failed_5_min,
                    paused_at, paused_until, paused_by, paused_reason
                from errand.queues
                order by queue
                """
            )
            .map { row in
                let (
                    queue, waiting, running, scheduled, parked, failed, isEstimate, oldest, workers, succeeded, errors,
                    pausedAt, until, by, reason
                ) = try row.decode(
                    String.self, Int.self, Int.self, Int.self, Int.self, Int.self, Bool.self, Double?.self, Int.self,
                    Int.self, Int.self, Timestamp?.self, Timestamp?.self, String?.self, String?.self)
                return Line(
                    queue: queue, waiting: waiting, running: running, scheduled: scheduled, parked: parked,
                    failed: failed, is_estimate: isEstimate, oldest_due_seconds: oldest, workers: workers,
                    succeeded_5_min: succeeded, failed_5_min: errors, paused_at: pausedAt?.description,
                    paused_until: until?.description, paused_by: by, paused_reason: reason)
            }
        }
        try show(lines, asJSON: json, none: "there are no queues: no job has been enqueued, and no worker has started")
    }
}

/// What the commands that change a queue print.
private struct Done: Encodable {
    let queue: String
    let done: String

    func show(asJSON: Bool) throws { print(try asJSON ? Command.json(self) : "\(queue.printable): \(done)") }
}

struct PauseQueue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause a queue: no job of it is claimed until it is resumed. Running jobs go on.")

    @Argument(help: "The queue's name.", completion: .queues)
    var name: String

    @Option(help: "The reason, shown in the status.")
    var reason: String

    @Option(help: "When the pause ends: a time, or 2h from now.", transform: Moment.init(argument:))
    var until: Moment?

    @Flag(help: "Also a queue that no job and no worker has used yet.")
    var unused = false

    @Flag(help: "Print {\"queue\", \"done\"}.")
    var json = false

    func run() async throws {
        try await Environment.load().withConnection { connection in
            if !unused {
                let known = try await QueueCommand.names(on: connection)
                guard known.contains(name) else {
                    throw Failure.unknown(
                        "queue", name, among: known, more: " (--unused pauses one that nobody has used yet)")
                }
            }
            try await connection.execute(
                Statement(
                    "select errand.pause_queue($1, $2, coalesce($3, now() + $4 * interval '1 microsecond'), force => $5)",
                    [name, reason] + Moment.parameters(until) + [unused]))
        }
        try Done(queue: name, done: "paused").show(asJSON: json)
    }
}

struct ResumeQueue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let workers claim from a paused queue again.")

    @Argument(help: "The queue's name.", completion: .queues)
    var name: String

    @Option(help: "The reason, for the audit.")
    var reason: String?

    @Flag(help: "Print {\"queue\", \"done\"}.")
    var json = false

    func run() async throws {
        let wasPaused = try await Environment.load().withConnection { connection in
            let found = try await connection.query(
                Statement("select paused_at is not null from errand.queues where queue = $1", [name]))
            guard let wasPaused = try found.first?.decode(Bool.self) else {
                throw Failure.unknown("queue", name, among: try await QueueCommand.names(on: connection))
            }
            try await connection.execute(Statement("select errand.resume_queue($1, $2)", [name, reason]))
            return wasPaused
        }
        try Done(queue: name, done: wasPaused ? "resumed" : "was not paused").show(asJSON: json)
    }
}
