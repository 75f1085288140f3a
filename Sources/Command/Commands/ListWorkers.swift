import ArgumentParser
import Postgres

/// `errand worker list`: what the view errand.workers shows.
struct ListWorkers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the workers that hold a lease, what they claim from, and which is lost or drained.",
        discussion: """
            Reads the view errand.workers. A lost worker sent no heartbeat within its lease: its jobs are made \
            available again within half a minute.
            """)

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Listed {
        let id: Int64
        let name: String
        let version: String
        let queues: [String]
        let kinds: [String]
        let running: Int
        let started_at: String
        let silent_seconds: Double
        let is_lost: Bool
        let drained_reason: String?

        static let head = ["ID", "NAME", "VERSION", "QUEUES", "KINDS", "RUNNING", "HEARD", "STATE"]
        var cells: [String?] {
            [
                "\(id)", name, version, queues.joined(separator: ","), kinds.joined(separator: ","), "\(running)",
                "\(age(silent_seconds)) ago", is_lost ? "lost" : drained_reason.map { "drained: \($0)" } ?? "alive",
            ]
        }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            try await connection.query(
                """
                select id, name, version, queues, kinds, running, started_at,
                    extract(epoch from now() - heartbeat_at)::float8, is_lost, drained_reason
                from errand.workers
                order by id
                """
            )
            .map { row in
                let (id, name, version, queues, kinds, running, started, silent, isLost, drained) = try row.decode(
                    Int64.self, String.self, String.self, [String].self, [String].self, Int.self, Timestamp.self,
                    Double.self, Bool.self, String?.self)
                return Line(
                    id: id, name: name, version: version, queues: queues, kinds: kinds, running: running,
                    started_at: started.description, silent_seconds: silent, is_lost: isLost,
                    drained_reason: drained)
            }
        }
        try show(lines, asJSON: json, none: "no worker is alive: start `errand worker`")
    }
}
