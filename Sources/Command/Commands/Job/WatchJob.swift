import ArgumentParser
import Foundation
import Postgres

struct WatchJob: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a job until it ends: a line for each change of its state, attempt, progress and log.",
        discussion: """
            errand job watch 4711
            errand job watch "$(errand enqueue noop)" && echo done

            Reads the view errand.jobs. Exits with 0 if the job succeeded, and with 1 if it ended otherwise.
            """)

    @Argument(help: "The job's id.")
    var id: Int64

    @Option(help: "How often to look, such as 500ms or 10s.")
    var every = "1s"

    @Flag(help: "Print a JSON object for each change, one a line.")
    var json = false

    func validate() throws {
        guard Duration(setting: every, atLeast: .milliseconds(100)) != nil else {
            throw ValidationError("--every: expected a duration of at least 100ms, got '\(every.printable)'")
        }
    }

    func run() async throws {
        let interval = Duration(setting: every) ?? .seconds(1)
        let ended = try await Environment.load().withConnection { connection in
            var last: JobSnapshot?
            while true {
                let now = try await Self.read(id, on: connection)
                for line in try now.changes(since: last, asJSON: json) { print(line) }
                fflush(nil)
                if now.hasEnded { return now }
                last = now
                try await Task.sleep(for: interval)
            }
        }
        guard ended.state == "succeeded" else { throw ExitCode(Failure.failed) }
    }

    private static func read(_ id: Int64, on connection: Connection) async throws -> JobSnapshot {
        let rows = try await connection.query(
            Statement(
                """
                select state, attempt, max_attempts, coalesce(reason, waiting_for), progress::float8, progress_message,
                    coalesce(log, '{}'), run_at, clock_timestamp()
                from errand.jobs
                where id = $1
                order by finished_at desc nulls first
                limit 1
                """, [id]))
        guard let row = rows.first else { throw ShowJob.unknown(id) }
        let (state, attempt, most, reason, progress, message, log, due, now) = try row.decode(
            String.self, Int.self, Int.self, String?.self, Double?.self, String?.self, [String].self, Timestamp.self,
            Timestamp.self)
        return JobSnapshot(
            time: now.description, state: state, attempt: attempt, max_attempts: most, run_at: due.description,
            reason: reason, progress: progress, message: message, log: log)
    }
}

/// What `errand job watch` has read of a job at one time.
struct JobSnapshot: Encodable, Equatable {
    let time: String
    let state: String
    let attempt: Int
    let max_attempts: Int
    let run_at: String
    let reason: String?
    let progress: Double?
    let message: String?
    let log: [String]

    enum CodingKeys: CodingKey { case time, state, attempt, max_attempts, run_at, reason, progress, message }

    var hasEnded: Bool { ["succeeded", "failed", "cancelled", "obsolete"].contains(state) }

    /// What is new since an earlier reading: log lines first, then the state. Empty if nothing is.
    func changes(since last: JobSnapshot?, asJSON: Bool) throws -> [String] {
        if asJSON { return isSame(as: last) ? [] : [try Command.json(self)] }
        return newLog(since: last).map { "  \($0.printable)" } + (isSame(as: last) ? [] : [line])
    }

    private func isSame(as last: JobSnapshot?) -> Bool {
        guard let last else { return false }
        return (state, attempt, reason) == (last.state, last.attempt, last.reason)
            && (progress, message) == (last.progress, last.message)
    }

    /// The log has the last lines only, and starts again with each attempt.
    private func newLog(since last: JobSnapshot?) -> ArraySlice<String> {
        guard let end = last?.log.last, let index = log.lastIndex(of: end) else { return log[...] }
        return log[(index + 1)...]
    }

    private var line: String {
        let share = progress.map { "\(Int($0 * 100)) %" }
        let due = state == "scheduled" ? "due \(inSeconds(run_at))" : nil
        let parts = [
            inSeconds(time), (Style.of(state) ?? .bold).applied(to: state), "attempt \(attempt)/\(max_attempts)", due,
            share, message?.printable, reason?.printable,
        ]
        return parts.compactMap(\.self).joined(separator: "  ")
    }
}
