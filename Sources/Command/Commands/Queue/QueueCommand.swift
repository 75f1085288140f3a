import ArgumentParser
import Listings
import Postgres

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
}

struct ListQueues: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show all queues: waiting, running and failed jobs, and whether each is paused.",
        discussion: """
            Reads the view errand.queues. With hundreds of waiting jobs, their number is an estimate (~). OLDEST: how \
            long the longest-waiting job has been due. DONE and ERRORS: within the last 5 minutes.
            """)

    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.queues.query()) }
    var none: String { "there are no queues: no job has been enqueued, and no worker has started" }

    static let oldest = Column("OLDEST") { $0.oldest_due_seconds.map(age) }
    static let waiting = Column("WAITING") { ($0.is_estimate == "true" ? "~" : "") + ($0.waiting ?? "") }
    static let table = [
        Column("QUEUE", \.queue), waiting, Column("RUNNING", \.running), Column("LATER", \.scheduled),
        Column("PARKED", \.parked), Column("FAILED", \.failed), oldest, Column("WORKERS", \.workers),
        Column("DONE", \.succeeded_5_min), Column("ERRORS", \.failed_5_min), paused,
    ]
    static let paused = Column("PAUSED") { row in row.paused_at.map { _ in row.paused_reason ?? "no reason given" } }
}

struct PauseQueue: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause a queue: no job of it is claimed until it is resumed. Running jobs go on.")

    @Argument(help: "The queue's name.", completion: .queues)
    var name: String

    @OptionGroup var reason: Reason

    @Option(help: "When the pause ends: a time, or 2h from now.", transform: Moment.init(argument:))
    var until: Moment?

    @Flag(help: "Also a queue that no job and no worker has used yet.")
    var unused = false

    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "queue") }

    func act(on connection: Connection) async throws -> Done {
        if !unused {
            try await Names.queues.require(
                name, on: connection, more: " (--unused pauses one that nobody has used yet)")
        }
        try await connection.execute(
            Statement(
                "select errand.pause_queue($1, $2, coalesce($3, now() + $4 * interval '1 microsecond'), force => $5)",
                [name, reason.text] + Moment.parameters(until) + [unused]))
        return Done("paused")
    }
}

struct ResumeQueue: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let workers claim from a paused queue again.")

    @Argument(help: "The queue's name.", completion: .queues)
    var name: String

    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "queue") }

    func act(on connection: Connection) async throws -> Done {
        try await Names.queues.require(name, on: connection)
        let wasPaused = try await connection.query(
            Statement(
                """
                select paused_at is not null
                from errand.queues, errand.resume_queue($1, $2)
                where queues.queue = $1
                """, [name, reason.text])
        ).scalar(Bool.self)
        return Done(wasPaused ? "resumed" : "was not paused")
    }
}
