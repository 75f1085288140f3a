import ArgumentParser
import Postgres

struct ErrorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errors",
        abstract: "Show failures, grouped by similar errors; with --since, how many before and after that time.",
        discussion: """
            errand errors
            errand errors --since 30m           # since the deploy half an hour ago, against the half hour before it

            Reads the view errand.failures, or calls errand.compare_errors. Failures of jobs that were retried or \
            discarded since are among them for a week.
            """)

    @Option(
        help: "Compare the time since then with as long a time before: 2h before now, or 2026-11-22T02:00:00Z.",
        transform: Since.init(argument:))
    var since: Since?

    @Option(help: "How many groups at most, 1 to 10000.")
    var count = 20

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Group: Listed {
        let kind: String
        let queue: String
        let failures: Int
        let failures_1_h: Int
        let retried: Int
        let discarded: Int
        let last_at: String
        let last_job_id: Int64
        /// As log lines have it.
        let error_id: String
        let last_error: String?

        static let head = ["KIND", "QUEUE", "FAILURES", "1 H", "LAST", "JOB", "ERROR ID", "ERROR"]
        var cells: [String?] {
            [
                kind, queue, "\(failures)", "\(failures_1_h)", inSeconds(last_at), "\(last_job_id)", error_id,
                last_error,
            ]
        }
    }

    struct Change: Listed {
        let kind: String
        let queue: String
        let before: Int
        let after: Int
        let last_at: String
        let last_job_id: Int64
        let last_error: String?

        static let head = ["KIND", "QUEUE", "BEFORE", "AFTER", "LAST", "JOB", "ERROR"]
        var cells: [String?] {
            [kind, queue, "\(before)", "\(after)", inSeconds(last_at), "\(last_job_id)", last_error]
        }
    }

    func validate() throws {
        guard (1...10_000).contains(count) else { throw ValidationError("--count: expected 1 to 10000, got \(count)") }
    }

    func run() async throws {
        let environment = try Environment.load()
        if since == nil {
            let groups = try await environment.withConnection(groups)
            try show(groups, asJSON: json, none: "nothing failed within a week")
        } else {
            let changes = try await environment.withConnection(changes)
            try show(changes, asJSON: json, none: "nothing failed within that time, nor in as long a time before")
        }
    }

    private func groups(_ connection: Connection) async throws -> [Group] {
        try await connection.query(
            Statement(
                """
                select kind, queue, failures, failures_1_h, retried, discarded, last_at, last_job_id, error_id,
                    last_error
                from errand.failures
                limit $1
                """, [count])
        )
        .map { row in
            let (kind, queue, failures, hour, retried, discarded, last, job, id, error) = try row.decode(
                String.self, String.self, Int.self, Int.self, Int.self, Int.self, Timestamp.self, Int64.self,
                String.self, String?.self)
            return Group(
                kind: kind, queue: queue, failures: failures, failures_1_h: hour, retried: retried,
                discarded: discarded, last_at: last.description, last_job_id: job, error_id: id, last_error: error)
        }
    }

    private func changes(_ connection: Connection) async throws -> [Change] {
        try await connection.query(
            Statement(
                """
                select kind, queue, before, after, last_at, last_job_id, last_error
                from errand.compare_errors(coalesce($2, now() + $3 * interval '1 microsecond'))
                limit $1
                """, [count] + Since.parameters(since))
        )
        .map { row in
            let (kind, queue, before, after, last, job, error) = try row.decode(
                String.self, String.self, Int.self, Int.self, Timestamp.self, Int64.self, String?.self)
            return Change(
                kind: kind, queue: queue, before: before, after: after, last_at: last.description, last_job_id: job,
                last_error: error)
        }
    }
}
