import Errand
import Postgres

// MARK: - Running processes
extension Diagnostics {
    /// The state of the deployment: errand.health(), what is overdue by name, and what is paused.
    ///
    /// All are warnings: a first worker can still start, and fixes most of them.
    func checkRunning(_ connection: Connection) async -> [Finding] {
        do {
            let health = try await connection.query(
                """
                select check_name, ok, detail, hint
                from errand.health()
                where check_name not in ('overdue', 'kinds', 'home')
                """)
            var findings = try health.map { row in
                let (check, isOK, detail, hint) = try row.decode(String.self, Bool.self, String.self, String?.self)
                return isOK ? Finding.ok(check, detail) : .warn(check, detail, fix: hint)
            }
            findings += try await checkOverdue(connection)
            findings += try await checkPaused(connection)
            return findings
        } catch let error as PostgresError where error.sqlState == "42501" {
            // A worker needs no right to monitor.
            return [.ok("running", "not checked: this user needs errand_monitor")]
        } catch {
            return [
                .fail(
                    "running", "\(error)", fix: "see the server's log; is the database overloaded?",
                    code: Failure.failed)
            ]
        }
    }

    /// A finding for each overdue queue or schedule and each kind without a worker; at most 20 of each.
    private func checkOverdue(_ connection: Connection) async throws -> [Finding] {
        try await overdue("overdue", isKind: false, or: "no queue and no schedule is late", connection)
            + (try await overdue("kinds", isKind: true, or: "each waiting kind has a worker", connection))
    }

    private func overdue(_ check: String, isKind: Bool, or quiet: String, _ connection: Connection) async throws
        -> [Finding]
    {
        let most = 20
        let overdue = try await connection.query(
            Statement(
                """
                select what || ' ' || name, detail, hint, count(*) over ()
                from errand.overdue
                where (what = 'kind') = $1 and what <> 'paused queue'
                order by what, name
                limit $2
                """, [isKind, most]))
        var total = 0
        var findings: [Finding] = []
        for row in overdue {
            let (name, detail, hint, count) = try row.decode(String.self, String?.self, String?.self, Int.self)
            findings.append(.warn(check, "\(name): \(detail ?? "late")", fix: hint))
            total = count
        }
        if total > most {
            findings.append(.warn(check, "and \(total - most) more", fix: "select * from errand.overdue"))
        }
        return findings.isEmpty ? [.ok(check, quiet)] : findings
    }

    /// What is paused, and by whom.
    private func checkPaused(_ connection: Connection) async throws -> [Finding] {
        let paused = try await connection.query(
            """
            select 'queue ' || queue, paused_at, paused_by, paused_reason, 'errand queue resume ' || queue
            from errand.queues
            where paused_at is not null
            union all
            select 'schedule ' || name, paused_at, null, paused_reason, 'errand schedule resume ' || name
            from errand.schedules
            where paused_at is not null
            order by 1
            limit 20
            """)
        if paused.isEmpty { return [.ok("paused", "no queue and no schedule")] }
        return try paused.map { row in
            let (name, since, by, reason, fix) = try row.decode(
                String.self, Timestamp.self, String?.self, String?.self, String.self)
            let whose = by.map { " by \($0)" } ?? ""
            return .warn(
                "paused", "\(name), since \(inSeconds(since.description))\(whose): \(reason ?? "no reason given")",
                fix: fix)
        }
    }
}
