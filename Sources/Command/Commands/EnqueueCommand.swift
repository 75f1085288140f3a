import ArgumentParser
import Foundation
import Postgres

struct EnqueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enqueue",
        abstract: "Put one job in line, as errand.enqueue does in SQL.",
        discussion: """
            errand enqueue noop '{"sleep_ms": 500}'
            errand enqueue noop --in 10m --unique nightly

            Prints the job's id; with --unique, that of the unfinished job that has the key already, if there is one.
            """)

    @Argument(help: "The kind: which handler runs it.")
    var kind: String

    @Argument(help: "What the handler gets, as JSON.")
    var payload = "{}"

    @Option(help: "The queue. Default: the kind's.")
    var queue: String?

    @Option(help: "Not before this time, such as 2026-12-24T18:00:00+01:00.")
    var at: String?

    @Option(name: .customLong("in"), help: "Not before this much time has passed, such as 90s, 10m, 24h.")
    var delay: String?

    @Option(help: "1 (first) to 4 (last).")
    var priority: Int?

    @Option(help: "Attempts in all.")
    var maxAttempts: Int?

    @Option(name: .customLong("unique"), help: "At most one unfinished job has this key.")
    var uniqueKey: String?

    @Flag(help: "Print {\"job_id\", \"inserted\", \"state\"}.")
    var json = false

    func validate() throws {
        if at != nil && delay != nil { throw ValidationError("--at and --in: expected one of them, got both") }
        if let delay, Duration(setting: delay) == nil {
            throw ValidationError("--in: expected a duration such as 90s or 24h, got '\(delay)'")
        }
        guard (try? JSONSerialization.jsonObject(with: Data(payload.utf8), options: .fragmentsAllowed)) != nil else {
            throw ValidationError("payload: expected JSON, got '\(payload.prefix(100))'")
        }
    }

    struct Answer: Encodable {
        let job_id: Int64
        let inserted: Bool
        let state: String
    }

    func run() async throws {
        let answer = try await Environment.load().withConnection { connection in
            let rows = try await connection.query(
                Statement(
                    """
                    select job_id, inserted, state
                    from errand.enqueue(
                        $1, $2, $3, coalesce($4::timestamptz, now() + $5 * interval '1 microsecond'), $6::int4, $7::int4,
                        $8)
                    """,
                    [
                        kind, JSONB(payload), queue, at, delay.flatMap(Duration.init(setting:))?.wholeMicroseconds,
                        priority, maxAttempts, uniqueKey,
                    ]))
            let (id, inserted, state) = try rows[0].decode(Int64.self, Bool.self, String.self)
            return Answer(job_id: id, inserted: inserted, state: state)
        }
        if json {
            print(try Command.json(answer))
        } else {
            print(answer.job_id)
            if !answer.inserted { writeError("errand: this job had the key already, and is \(answer.state)") }
        }
    }
}
