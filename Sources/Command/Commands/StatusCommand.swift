import ArgumentParser
import Foundation
import Postgres

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "One screen: queues, workers, schedules, recent failures.",
        discussion: """
            errand status --json | jq '.queues[] | select(.waiting > 1000)'

            Reads the views errand.queue_status, worker_status, schedule_status and recent_errors. Where hundreds of jobs wait, \
            their number is that of the last count (~), some seconds ago.
            """)

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let status = try await Environment.load().withConnection(Status.read)
        print(try json ? Command.json(status) : status.table)
    }
}

/// What `errand status` shows.
struct Status: Encodable {
    struct Queue: Encodable {
        let queue: String
        let waiting: Int
        let running: Int
        let scheduled: Int
        /// Whether `waiting` and `running` are housekeeping's last count, not this moment's.
        let is_estimate: Bool
        let oldest_due_seconds: Double?
        let succeeded_5_min: Int
        let failed_5_min: Int
        let paused_reason: String?
    }

    struct Worker: Encodable {
        let id: Int64
        let name: String
        let version: String
        let running: Int
        let silent_seconds: Double
    }

    struct Schedule: Encodable {
        let name: String
        let next_tick: String?
        let problem: String?
    }

    struct Failure: Encodable {
        let id: Int64
        let kind: String
        let seconds_ago: Double
        /// Failures with this error or one like it.
        let alike: Int
        let error: String
    }

    var queues: [Queue] = []
    var workers: [Worker] = []
    var schedules: [Schedule] = []
    var recent_failures: [Failure] = []
    /// Jobs that wait for their time, as housekeeping counted them last: some seconds ago.
    var scheduled = 0
}

extension Status {
    static func read(_ connection: Connection) async throws -> Status {
        var status = Status()
        for row in try await connection.query(
            """
            select queue, waiting, running, scheduled, is_estimate, extract(epoch from now() - oldest_due_at)::float8, succeeded_5_min::int8,
                failed_5_min::int8, case when paused_at is not null then coalesce(paused_reason, 'no reason given') end
            from errand.queue_status order by queue
            """)
        {
            let (queue, waiting, running, scheduled, isEstimate, oldest, succeeded, failed, paused) = try row.decode(
                String.self, Int.self, Int.self, Int.self, Bool.self, Double?.self, Int.self, Int.self, String?.self)
            status.queues.append(
                Queue(
                    queue: queue, waiting: waiting, running: running, scheduled: scheduled, is_estimate: isEstimate,
                    oldest_due_seconds: oldest, succeeded_5_min: succeeded, failed_5_min: failed, paused_reason: paused)
            )
        }
        for row in try await connection.query(
            "select id, name, version, running, extract(epoch from now() - beat_at)::float8 from errand.worker_status order by id"
        ) {
            let (id, name, version, running, silent) = try row.decode(
                Int64.self, String.self, String.self, Int.self, Double.self)
            status.workers.append(
                Worker(id: id, name: name, version: version, running: running, silent_seconds: silent))
        }
        for row in try await connection.query(
            "select name, next_tick::text, problem from errand.schedule_status order by name")
        {
            let (name, next, problem) = try row.decode(String.self, String?.self, String?.self)
            status.schedules.append(Schedule(name: name, next_tick: next, problem: problem))
        }
        for row in try await connection.query(
            """
            select last_job_id, kind, extract(epoch from now() - last_at)::float8, failures, last_error
            from errand.recent_errors limit 10
            """)
        {
            let (id, kind, ago, failures, error) = try row.decode(
                Int64.self, String.self, Double.self, Int.self, String.self)
            status.recent_failures.append(
                Failure(id: id, kind: kind, seconds_ago: ago, alike: failures, error: error))
        }
        status.scheduled = status.queues.reduce(0) { $0 + $1.scheduled }
        return status
    }

    /// For people.
    var table: String {
        var lines = [columns("QUEUE", "WAITING", "RUNNING", "OLDEST", "DONE 5 MIN", "FAILED 5 MIN", "")]
        for queue in queues {
            lines.append(
                columns(
                    queue.queue, (queue.is_estimate ? "~" : "") + "\(queue.waiting)", "\(queue.running)",
                    queue.oldest_due_seconds.map(Self.age) ?? "-", "\(queue.succeeded_5_min)", "\(queue.failed_5_min)",
                    queue.paused_reason.map { "paused: \($0.printable)" } ?? ""))
        }
        lines += ["", "\(scheduled) scheduled for later"]
        lines += ["", workers.isEmpty ? "no worker is alive" : "WORKERS"]
        for worker in workers {
            lines.append(
                "  \(worker.id)  \(worker.name.printable)  \(worker.version.printable)  running \(worker.running), "
                    + "last heard \(Self.age(worker.silent_seconds)) ago")
        }
        if !schedules.isEmpty { lines += ["", "SCHEDULES"] }
        for schedule in schedules {
            lines.append("  \(schedule.name.printable)  \(schedule.problem?.printable ?? schedule.next_tick ?? "-")")
        }
        if !recent_failures.isEmpty { lines += ["", "LAST FAILURES"] }
        for failure in recent_failures {
            lines.append(
                "  job \(failure.id)  \(failure.kind.printable)  \(Self.age(failure.seconds_ago)) ago\(failure.alike > 1 ? ", \(failure.alike) alike" : "")  "
                    + String(failure.error.printable.prefix(100)))
        }
        return lines.joined(separator: "\n")
    }

    private func columns(_ texts: String...) -> String {
        let widths = [16, 9, 9, 9, 12, 14, 0]
        let padded = zip(texts, widths).map { $0.padding(toLength: max($1, $0.count + 1), withPad: " ", startingAt: 0) }
        return padded.joined().trimmingCharacters(in: .whitespaces)
    }

    private static func age(_ seconds: Double) -> String {
        switch seconds {
        case ..<120: String(format: "%.0fs", max(0, seconds))
        case ..<7200: String(format: "%.0fm", seconds / 60)
        default: String(format: "%.0fh", seconds / 3600)
        }
    }
}
