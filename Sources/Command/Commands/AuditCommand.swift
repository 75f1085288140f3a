import ArgumentParser
import Postgres

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Show what operators did: who, when, what, why, and to how many jobs. The newest first.",
        discussion: """
            errand audit --since 2h
            errand audit --action pause_queue
            errand audit --job 4711 --json

            Reads the view errand.audit. Times are in UTC.
            """)

    @Option(help: "Actions that changed this job: it is among the first 1,000 of each.")
    var job: Int64?

    @Option(help: "Actions of this name, such as cancel or pause.")
    var action: String?

    @Option(help: "Actions of this login.")
    var who: String?

    @Option(
        help: "Actions since then, such as 2h before now, or 2026-11-22T02:00:00Z.", transform: Since.init(argument:))
    var since: Since?

    @Option(help: "How many at most, 1 to 10000.")
    var count = 20

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Listed {
        let id: Int64
        let done_at: String
        let who: String
        let action: String
        let target: String
        let reason: String?
        let jobs: Int

        static let head = ["TIME", "WHO", "ACTION", "JOBS", "REASON", "TARGET"]
        var cells: [String?] { [inSeconds(done_at), who, action, "\(jobs)", reason, target] }
    }

    func validate() throws {
        guard (1...10_000).contains(count) else { throw ValidationError("--count: expected 1 to 10000, got \(count)") }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            try await connection.query(
                Statement(
                    """
                    select id, done_at, who, action, target::text, reason, jobs
                    from errand.audit
                    where ($1::int8 is null or job_ids @> array[$1::int8]) and ($2 is null or action = $2)
                        and ($3 is null or who = $3)
                        and done_at >= coalesce($5, now() + $6 * interval '1 microsecond', '-infinity')
                    order by done_at desc, id desc
                    limit $4
                    """, [job, action, who, count] + Since.parameters(since))
            )
            .map { row in
                let (id, time, who, action, target, reason, jobs) = try row.decode(
                    Int64.self, Timestamp.self, String.self, String.self, String.self, String?.self, Int.self)
                return Line(
                    id: id, done_at: time.description, who: who, action: action, target: target, reason: reason,
                    jobs: jobs)
            }
        }
        try show(lines, asJSON: json, none: "no such action is on record")
    }
}
