import Postgres

/// What `errand status` shows.
struct Status: Encodable {
    struct Queue: Encodable {
        let queue: String
        let waiting: Int
        let running: Int
        let scheduled: Int
        /// Whether `waiting` and `running` are maintenance's last counts.
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

    struct Trouble: Encodable {
        let check: String
        let detail: String
        let hint: String?
    }

    /// The checks of errand.health() that aren't ok.
    var trouble: [Trouble] = []
    var queues: [Queue] = []
    var workers: [Worker] = []
    var schedules: [Schedule] = []
    var recent_failures: [Failure] = []
    /// Scheduled jobs, by maintenance's last count, some seconds ago.
    var scheduled = 0
}

extension Status {
    static func read(_ connection: Connection) async throws -> Status {
        var status = Status()
        for row in try await connection.query(
            """
            select queue, waiting, running, scheduled, is_estimate, extract(epoch from now() - oldest_due_at)::float8, succeeded_5_min::int8,
                failed_5_min::int8, case when paused_at is not null then coalesce(paused_reason, 'no reason given') end
            from errand.queues order by queue
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
            "select id, name, version, running, extract(epoch from now() - heartbeat_at)::float8 from errand.workers order by id"
        ) {
            let (id, name, version, running, silent) = try row.decode(
                Int64.self, String.self, String.self, Int.self, Double.self)
            status.workers.append(
                Worker(id: id, name: name, version: version, running: running, silent_seconds: silent))
        }
        for row in try await connection.query(
            "select name, next_tick::text, problem from errand.schedules order by name")
        {
            let (name, next, problem) = try row.decode(String.self, String?.self, String?.self)
            status.schedules.append(Schedule(name: name, next_tick: next, problem: problem))
        }
        for row in try await connection.query(
            """
            select last_job_id, kind, extract(epoch from now() - last_at)::float8, failures, last_error
            from errand.failures limit 10
            """)
        {
            let (id, kind, ago, failures, error) = try row.decode(
                Int64.self, String.self, Double.self, Int.self, String.self)
            status.recent_failures.append(
                Failure(id: id, kind: kind, seconds_ago: ago, alike: failures, error: error))
        }
        for row in try await connection.query("select check_name, detail, hint from errand.health() where not ok") {
            let (check, detail, hint) = try row.decode(String.self, String.self, String?.self)
            status.trouble.append(Trouble(check: check, detail: detail, hint: hint))
        }
        status.scheduled = status.queues.reduce(0) { $0 + $1.scheduled }
        return status
    }

    /// For people.
    var table: String {
        var parts = [queueTable, "\(scheduled) scheduled for later"]
        parts.append(workers.isEmpty ? "no worker is alive" : workerTable)
        if !schedules.isEmpty { parts.append(scheduleTable) }
        if !recent_failures.isEmpty { parts.append(failureTable) }
        if !trouble.isEmpty { parts.append(troubleTable) }
        return parts.joined(separator: "\n\n")
    }

    private var queueTable: String {
        var table = TextTable(head: ["QUEUE", "WAITING", "RUNNING", "OLDEST", "DONE 5 MIN", "FAILED 5 MIN", "PAUSED"])
        for queue in queues {
            table.add(
                queue.queue, (queue.is_estimate ? "~" : "") + "\(queue.waiting)", "\(queue.running)",
                queue.oldest_due_seconds.map(age), "\(queue.succeeded_5_min)", "\(queue.failed_5_min)",
                queue.paused_reason)
        }
        return table.description
    }

    private var workerTable: String {
        var table = TextTable(head: ["WORKER", "NAME", "VERSION", "RUNNING", "HEARD"])
        for worker in workers {
            table.add(
                "\(worker.id)", worker.name, worker.version, "\(worker.running)", "\(age(worker.silent_seconds)) ago")
        }
        return table.description
    }

    private var scheduleTable: String {
        var table = TextTable(head: ["SCHEDULE", "NEXT TICK"])
        for schedule in schedules { table.add(schedule.name, schedule.problem ?? schedule.next_tick) }
        return table.description
    }

    private var failureTable: String {
        var table = TextTable(head: ["LAST FAILURE", "KIND", "WHEN", "ALIKE", "ERROR"])
        for failure in recent_failures {
            table.add(
                "\(failure.id)", failure.kind, "\(age(failure.seconds_ago)) ago", "\(failure.alike)", failure.error)
        }
        return table.description
    }

    private var troubleTable: String {
        var table = TextTable(head: ["TROUBLE", "WHAT", "FIX"])
        for check in trouble { table.add(check.check, check.detail, check.hint) }
        return table.description
    }
}
