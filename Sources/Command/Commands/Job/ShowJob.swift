import ArgumentParser
import Foundation
import Postgres

struct ShowJob: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a job: its options, attempts, progress, output and log.",
        discussion: "Reads the view errand.jobs. `errand job explain` says why it isn't running.")

    @Argument(help: "The job's id.")
    var id: Int64

    @Flag(help: "Print a JSON object: the view's columns, null if they don't apply.")
    var json = false

    /// A failed attempt, as the view has it.
    struct Attempt: Decodable {
        let attempt: Int
        let outcome: String?
        let worker: String?
        let started_at: String?
        let ended_at: String?
        let error: String?
    }

    func run() async throws {
        let (document, fields, attempts, log) = try await Environment.load().withConnection { connection in
            try await connection.execute("set time zone 'UTC'")
            // The server writes the document, so that long numbers of a payload are unchanged.
            let rows = try await connection.query(
                Statement(
                    """
                    select to_jsonb(existing), coalesce(ended.attempts, '[]'), array(
                        select concat_ws(': ', field.key, field.value)
                        from jsonb_each_text(to_jsonb(existing) - '{attempts,log}'::text[]) with ordinality
                            as field(key, value, ordinal)
                        where field.value is not null
                        order by array_position($2, field.key), ordinal), coalesce(existing.log, '{}')
                    from (select * from errand.jobs where id = $1 order by finished_at desc nulls first limit 1)
                        as existing
                    cross join lateral (
                        -- Each is in the zone of the session that ended it.
                        select jsonb_agg(attempt || jsonb_build_object(
                            'ended_at', (attempt ->> 'ended_at')::timestamptz) order by ordinal) as attempts
                        from jsonb_array_elements(existing.attempts) with ordinality as each_of(attempt, ordinal)) as ended
                    """, [id, Self.order]))
            guard let row = rows.first else { throw ShowJob.unknown(id) }
            let (document, attempts, fields, log) = try row.decode(JSONB.self, JSONB.self, [String].self, [String].self)
            return (document.text.controlsEscaped, fields, try attempts.decode([Attempt].self), log)
        }
        if json { return print(document) }
        let halves = fields.map(Self.halves)
        let width = 2 + (halves.map(\.name.count).max() ?? 0)
        for (name, value) in halves {
            print("\(name.replacing("_", with: " ").padded(to: width))\(value.printable)")
        }
        if !attempts.isEmpty {
            var table = TextTable(head: ["ATTEMPT", "OUTCOME", "ENDED", "WORKER", "ERROR"])
            for one in attempts {
                table.add("\(one.attempt)", one.outcome, one.ended_at.map(inSeconds), one.worker, one.error)
            }
            print("\n\(table)")
        }
        if !log.isEmpty { print("\nLOG") }
        for line in log { print(line.printable) }
    }

    static func unknown(_ id: Int64) -> Failure {
        Failure(
            code: Failure.failed,
            "there is no job \(id) (any more); ended jobs stay for 7 days, failed ones for 30")
    }

    /// The order of fields, the most important first.
    private static let order = [
        "id", "kind", "queue", "state", "reason", "waiting_for", "priority", "attempt", "max_attempts", "crashes",
        "created_at", "run_at", "started_at", "finished_at", "not_after", "worker_id", "unique_key", "limit_key",
        "guard", "tags", "subject", "options", "progress", "progress_message", "progress_at", "payload", "output",
    ]

    private static func halves(of field: String) -> (name: String, value: String) {
        guard let colon = field.firstRange(of: ": ") else { return (field, "") }
        return (String(field[..<colon.lowerBound]), String(field[colon.upperBound...]))
    }
}

struct ExplainJob: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why a job isn't running, or how it ended: each reason with its fix.",
        discussion:
            "Calls errand.explain. The first line is the first obstacle; codes are listed in that function's comment.")

    @Argument(help: "The job's id.")
    var id: Int64

    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        let query = Query("select rank, code, detail, hint from errand.explain($1)", [id])
        let lines = try await Environment.load().withConnection { try await Fields.read(query, on: $0) }
        if lines.contains(where: { $0.code == "unknown" }) { throw ShowJob.unknown(id) }
        if json { return print(jsonArray(lines)) }
        for line in lines {
            let text = "\(line.rank ?? ""). \(line.code ?? ""): \(line.detail ?? "")".printable
            print(text.wrapped(to: TextTable.terminalWidth - 3).joined(separator: "\n   "))
            // Hints stay in one line, so that they can be pasted.
            if let hint = line.hint { print("   \(hint.printable)") }
        }
    }
}
