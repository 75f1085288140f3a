import ArgumentParser
import Postgres

/// What the commands that drain a worker print.
private struct Done: Encodable {
    let worker_id: Int64
    let done: String

    func show(asJSON: Bool) throws { print(try asJSON ? Command.json(self) : "worker \(worker_id): \(done)") }
}

struct DrainWorker: AsyncParsableCommand {
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

    @Option(help: "The reason, for the audit and errand.workers.")
    var reason: String

    @Flag(help: "Print {\"worker_id\", \"done\"}.")
    var json = false

    func run() async throws {
        let running = try await Environment.load().withConnection { connection in
            try await connection.query(Statement("select running from errand.drain_worker($1, $2)", [id, reason]))
                .scalar(Int.self)
        }
        let jobs = running == 1 ? "1 job" : "\(running) jobs"
        try Done(worker_id: id, done: json ? "drained" : "drained; it ran \(jobs) at its last heartbeat")
            .show(asJSON: json)
    }
}

struct UndrainWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undrain",
        abstract: "Let a drained worker claim again.",
        discussion: "Calls errand.undrain_worker. A worker that isn't drained stays as it is.")

    @Argument(help: "The worker's id, as `errand worker list` shows it.")
    var id: Int64

    @Option(help: "The reason, for the audit.")
    var reason: String?

    @Flag(help: "Print {\"worker_id\", \"done\"}.")
    var json = false

    func run() async throws {
        try await Environment.load().withConnection { connection in
            _ = try await connection.query(Statement("select errand.undrain_worker($1, $2)", [id, reason]))
        }
        try Done(worker_id: id, done: "claims").show(asJSON: json)
    }
}
