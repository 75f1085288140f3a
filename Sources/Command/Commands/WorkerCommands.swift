import ArgumentParser
import Listings
import Postgres

struct ListWorkers: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the workers that hold a lease, what they claim from, and which is lost or drained.",
        discussion: """
            Reads the view errand.workers. A lost worker sent no heartbeat within its lease: its jobs are made \
            available again within half a minute.
            """)

    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.workers.query()) }
    var none: String { "no worker is alive: start `errand worker`" }

    static let heard = Column("HEARD") { row in row.silent_seconds.map { "\(age($0)) ago" } }
    static let table = [
        Column("ID", \.id), Column("NAME", \.name), Column("VERSION", \.version),
        Column("QUEUES") { $0.list("queues") },
        Column("KINDS") { $0.list("kinds") }, Column("RUNNING", \.running), heard,
        Column("STATE") { $0.is_lost == "true" ? "lost" : $0.drained_reason.map { "drained: \($0)" } ?? "alive" },
    ]
}

struct DrainWorker: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Let a worker claim nothing more. What it has claimed runs to its end.",
        discussion: """
            errand worker drain 17 --reason 'its host restarts'

            Calls errand.drain_worker. The process stays idle until it is stopped, or until `errand worker undrain`. A \
            restarted worker is not drained.
            """)

    @Argument(help: "The worker's id, as `errand worker list` shows it.")
    var id: Int64

    @OptionGroup var reason: Reason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .numbered(id, as: "worker_id") }

    func act(on connection: Connection) async throws -> Done {
        let call = Statement("select running from errand.drain_worker($1, $2)", [id, reason.text])
        let running = try await connection.query(call).scalar(Int.self)
        return Done("drained", "; it ran \(running == 1 ? "1 job" : "\(running) jobs") at its last heartbeat")
    }
}

struct UndrainWorker: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "undrain",
        abstract: "Let a drained worker claim again.",
        discussion: "Calls errand.undrain_worker. A worker that isn't drained stays as it is.")

    @Argument(help: "The worker's id, as `errand worker list` shows it.")
    var id: Int64

    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .numbered(id, as: "worker_id") }

    func act(on connection: Connection) async throws -> Done {
        try await connection.execute(Statement("select errand.undrain_worker($1, $2)", [id, reason.text]))
        return Done("claims")
    }
}

struct ReleaseWorker: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Take back the jobs of a worker that is lost: they run elsewhere at once.",
        discussion: """
            errand worker release 17 --reason 'its host is gone'

            Calls errand.release_worker. Attempts that it takes back don't count. Lost workers are found within half a \
            minute without it.
            """)

    @Argument(help: "The worker's id, as `errand worker list` shows it.")
    var id: Int64

    @OptionGroup var reason: Reason

    @Flag(help: "Also of a worker that is alive: it stops its jobs and registers again.")
    var force = false

    @OptionGroup var output: ActionOutput

    var subject: Subject { .numbered(id, as: "worker_id") }

    func act(on connection: Connection) async throws -> Done {
        let jobs = try await connection.call(
            "count(*) from errand.release_worker($1, $2, $3)", [id, reason.text, force], as: Int.self)
        return Done("released", ": \(jobs == 1 ? "1 job is" : "\(jobs) jobs are") available again")
    }
}
