import ArgumentParser
import Postgres

struct KindCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kind",
        abstract: "Kinds of jobs: list them, pause and resume one.",
        discussion: """
            errand kind list
            errand kind pause newsletter --reason 'wrong text' --until 2h
            errand kind resume newsletter
            errand times --since 1d                  # what of each kind ran, and for how long
            """,
        subcommands: [ListKinds.self, PauseKind.self, ResumeKind.self])
}

struct ListKinds: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show all kinds: live workers, jobs in each state, and the last hour's outcomes and times.",
        discussion: """
            Reads the views errand.kinds and errand.circuits. DONE and ERRORS: within the last hour. WAIT and RUN: the \
            95th percentile of that hour, in milliseconds.
            """)

    @OptionGroup var output: ListOutput

    var query: Query {
        Query(
            """
            select kind.kind, kind.queue, workers, waiting, running, scheduled, kind.parked, failed, succeeded_1_h,
                failed_1_h, retried_1_h, wait_p95_ms_1_h, run_p95_ms_1_h, opened_at as paused_at,
                until as paused_until, reason as paused_reason
            from errand.kinds as kind
            left join errand.circuits as pause
                on pause.name = 'kind:' || kind.kind and pause.opened_by = 'ops' and opened_at is not null
            order by kind.kind
            """)
    }
    var none: String { "there are no kinds: no job has been enqueued, and no worker has started" }

    static let table = [
        Column("KIND", \.kind), Column("QUEUE", \.queue), Column("WORKERS", \.workers), Column("WAITING", \.waiting),
        Column("RUNNING", \.running), Column("PARKED", \.parked),
        Column("FAILED", \.failed), Column("DONE", \.succeeded_1_h), Column("ERRORS", \.failed_1_h),
        milliseconds("WAIT", \.wait_p95_ms_1_h),
        milliseconds("RUN", \.run_p95_ms_1_h), ListQueues.paused,
    ]
}

struct PauseKind: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause a kind in all queues: its jobs park when they are due. Running jobs go on.")

    @Argument(help: "The kind's name.", completion: .kinds)
    var name: String

    @OptionGroup var reason: Reason

    @Option(help: "When the pause ends: a time, or 2h from now.", transform: Moment.init(argument:))
    var until: Moment?

    @Flag(help: "Also a kind that no worker has registered.")
    var unused = false

    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "kind") }

    func act(on connection: Connection) async throws -> Done {
        try await connection.execute(
            Statement(
                "select errand.pause_kind($1, $2, coalesce($3, now() + $4 * interval '1 microsecond'), force => $5)",
                [name, reason.text] + Moment.parameters(until) + [unused]))
        return Done("paused")
    }
}

struct ResumeKind: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let jobs of a paused kind run again: the oldest first, ever more each second."
    )

    @Argument(help: "The kind's name.", completion: .kinds)
    var name: String

    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "kind") }

    func act(on connection: Connection) async throws -> Done {
        try await connection.execute(Statement("select errand.resume_kind($1, $2)", [name, reason.text]))
        return Done("resumed")
    }
}
