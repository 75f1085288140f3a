import ArgumentParser
import Foundation
import Postgres

/// A bulk action, as the view errand.bulk_status shows it.
struct BulkProgress: Listed {
    let id: Int64
    let action: String
    let filter: String
    let state: String
    let progress: Double
    let changed: Int
    let requested_at: String
    let requested_by: String
    let reason: String

    static let head = ["ID", "ACTION", "STATE", "DONE", "JOBS", "REQUESTED", "BY", "FILTER", "REASON"]
    var cells: [String?] {
        [
            "\(id)", action, state, "\(Int(progress * 100)) %", "\(changed)", inSeconds(requested_at), requested_by,
            filter, reason,
        ]
    }

    /// The newest first; only this one if an id is given.
    static func read(_ id: Int64? = nil, count: Int = 1, on connection: Connection) async throws -> [BulkProgress] {
        try await connection.query(
            Statement(
                """
                select id, action, filter::text, state, progress::float8, changed, requested_at, requested_by, reason
                from errand.bulk_status
                where $1::int8 is null or id = $1::int8
                order by id desc
                limit $2
                """, [id, count])
        )
        .map { row in
            let (id, action, filter, state, progress, changed, time, who, reason) = try row.decode(
                Int64.self, String.self, String.self, String.self, Double.self, Int.self, Timestamp.self, String.self,
                String.self)
            return BulkProgress(
                id: id, action: action, filter: filter, state: state, progress: progress, changed: changed,
                requested_at: time.description, requested_by: who, reason: reason)
        }
    }

    /// Shows a progress bar until it is done or stopped, then a line.
    ///
    /// - Throws: ``Failure`` for an unknown one, and if it was stopped.
    static func follow(_ id: Int64, asJSON: Bool, on connection: Connection) async throws {
        let bar = ProgressBar()
        defer { bar.end() }
        while true {
            guard let now = try await read(id, on: connection).first else {
                throw Failure(code: Failure.failed, "there is no bulk action \(id) (any more)")
            }
            if now.state == "done" || now.state == "stopped" {
                bar.end()
                print(try asJSON ? Command.json(now) : "bulk \(id): \(now.state), \(now.changed) jobs")
                if now.state == "stopped" { throw ExitCode(Failure.failed) }
                return
            }
            let hint = now.state == "waiting" ? "waits for a worker or scheduler" : "\(now.changed) jobs"
            bar.show(now.progress, "\(now.action): \(hint)")
            try await Task.sleep(for: .milliseconds(300))
        }
    }
}

struct ListBulk: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show bulk actions, the newest first, and how far they are.",
        discussion: "Reads the view errand.bulk_status. Times are in UTC.")

    @Option(help: "How many at most, 1 to 10000.")
    var count = 20

    @Flag(help: "Print a JSON array.")
    var json = false

    func validate() throws {
        guard (1...10_000).contains(count) else { throw ValidationError("--count: expected 1 to 10000, got \(count)") }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            try await BulkProgress.read(count: count, on: connection)
        }
        try show(lines, asJSON: json, none: "no bulk action is on record")
    }
}

struct WatchBulk: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a bulk action until it is done, with a progress bar on a terminal.",
        discussion: "Exits with 0 if it was done, and with 1 if it was stopped.")

    @Argument(help: "Its number, as `errand bulk list` shows it.")
    var id: Int64

    @Flag(help: "Print its last line as a JSON object.")
    var json = false

    func run() async throws {
        try await Environment.load().withConnection { connection in
            try await BulkProgress.follow(id, asJSON: json, on: connection)
        }
    }
}
