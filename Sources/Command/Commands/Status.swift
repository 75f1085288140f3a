import Listings
import Postgres

/// What `errand status` shows.
struct Status: Sendable {
    private let queues: [Fields]
    private let workers: [Fields]
    private let schedules: [Fields]
    private let failures: [Fields]
    /// The checks of errand.health() that aren't ok.
    private let trouble: [Fields]

    static func read(_ connection: Connection) async throws -> Status {
        Status(
            queues: try await Fields.read(Query(Listing.queues.query()), on: connection),
            workers: try await Fields.read(Query(Listing.workers.query()), on: connection),
            schedules: try await Fields.read(Query(Listing.schedules.query()), on: connection),
            failures: try await Fields.read(Query(Listing.failures.query(limit: "10")), on: connection),
            trouble: try await Fields.read(
                Query("select check_name as \"check\", detail, hint from errand.health() where not ok"), on: connection)
        )
    }

    private var scheduled: Int { queues.reduce(0) { $0 + ($1.scheduled.flatMap(Int.init) ?? 0) } }

    var json: String {
        let parts = [
            ("queues", queues), ("workers", workers), ("schedules", schedules), ("recent_failures", failures),
            ("trouble", trouble),
        ]
        return "{" + parts.map { "\"\($0.0)\":\(jsonArray($0.1))," }.joined() + "\"scheduled\":\(scheduled)}"
    }

    /// For people.
    var text: String {
        var parts = [table(queues, Self.queueTable).description, "\(scheduled) scheduled for later"]
        parts.append(workers.isEmpty ? "no worker is alive" : table(workers, Self.workerTable).description)
        if !schedules.isEmpty { parts.append(table(schedules, Self.scheduleTable).description) }
        if !failures.isEmpty { parts.append(table(failures, ErrorsCommand.groups).description) }
        if !trouble.isEmpty { parts.append(table(trouble, Self.troubleTable).description) }
        return parts.joined(separator: "\n\n")
    }

    private static let queueTable = [
        Column("QUEUE", \.queue), ListQueues.waiting, Column("RUNNING", \.running), ListQueues.oldest,
        Column("DONE 5 MIN", \.succeeded_5_min), Column("FAILED 5 MIN", \.failed_5_min), ListQueues.paused,
    ]
    private static let workerTable = [
        Column("WORKER", \.id), Column("NAME", \.name), Column("VERSION", \.version), Column("RUNNING", \.running),
        ListWorkers.heard,
    ]
    private static let scheduleTable = [
        Column("SCHEDULE", \.name), Column("NEXT TICK") { $0.problem ?? $0.next_tick.map(inSeconds) },
    ]
    private static let troubleTable = [Column("TROUBLE", \.check), Column("WHAT", \.detail), Column("FIX", \.hint)]
}
