/// What people read of a view: its columns stand here once, for the command line, for its JSON and for the page.
package struct Listing: Sendable {
    /// A select list. The names are those of JSON fields, and stay as they are: programs read them.
    let columns: String
    let view: String
    let order: String

    /// - Parameters:
    ///   - condition: which rows; all by default.
    ///   - order: another order than the listing's own.
    ///   - limit: a number, or a parameter such as `$1`; none by default.
    package func query(where condition: String? = nil, order: String? = nil, limit: String? = nil) -> String {
        """
        select \(columns)
        from \(view)
        \(condition.map { "where \($0)" } ?? "")
        order by \(order ?? self.order)
        \(limit.map { "limit \($0)" } ?? "")
        """
    }
}

extension Listing {
    package static let queues = Listing(
        columns: """
            queue, waiting, running, scheduled, parked, failed, is_estimate, oldest_due_at,
            extract(epoch from oldest_age)::float8 as oldest_due_seconds, workers, succeeded_5_min, failed_5_min,
            retried_5_min, paused_at, paused_until, paused_by, paused_reason
            """, view: "errand.queues", order: "queue")

    package static let workers = Listing(
        columns: """
            id, name, version, queues, kinds, running, slots, started_at, heartbeat_at,
            extract(epoch from now() - heartbeat_at)::float8 as silent_seconds, is_lost, drained_at, drained_by,
            drained_reason
            """, view: "errand.workers", order: "id")

    package static let circuits = Listing(
        columns: """
            name, state, opened_at, opened_by, until, reason, coalesce(failures, 0) as failures, failed_at, closed_at,
            parked, is_more, probe_job_id
            """, view: "errand.circuits", order: "name")

    package static let batches = Listing(
        columns: """
            id, name, state, outcome, total, waiting, failed, cancelled, obsolete, progress, opened_at, closed_at,
            ended_at
            """, view: "errand.batches", order: "id desc")

    package static let limits = Listing(
        columns: "what, name, set_as, allowed, per::text as per, running, is_full, parked", view: "errand.limits",
        order: "is_full desc nulls last, parked desc nulls last, what, name")

    /// The longest blocked key first.
    package static let blockedKeys = Listing(
        columns: "order_key, job_id, kind, queue, blocked_at, error, waiting", view: "errand.blocked_keys",
        order: "blocked_at")

    package static let endpoints = Listing(
        columns: """
            name, url, secret_name, kinds, running, waiting, down_since, down_until,
            extract(epoch from timeout)::float8 as timeout_seconds,
            extract(epoch from callback_timeout)::float8 as callback_timeout_seconds, max_running, allows_private,
            problem
            """, view: "errand.endpoints", order: "name")

    package static let apiTokens = Listing(
        columns: "name, kinds, queues, set_at, set_by", view: "errand.api_tokens", order: "name")

    package static let schedules = Listing(
        columns: """
            name, cron, time_zone, kind, last_tick, last_outcome, last_job_id, next_tick, problem, paused_at, paused_reason
            """, view: "errand.schedules", order: "name")

    package static let ticks = Listing(
        columns: "tick, local, outcome, job_id, extract(epoch from lateness)::float8 as lateness_seconds, reason",
        view: "errand.schedule_ticks", order: "tick desc")

    /// Similar failures, the latest group first.
    package static let failures = Listing(
        columns: """
            kind, queue, fingerprint, failures, failures_1_h, retried, discarded, first_at, last_at, last_job_id,
            error_id, last_error
            """, view: "errand.failures", order: "last_at desc")

    package static let bulks = Listing(
        columns: """
            id, action, filter::text as filter, state, progress::float8 as progress, changed, requested_at, requested_by,
            reason
            """, view: "errand.bulk_status", order: "id desc")

    package static let audit = Listing(
        columns: "id, done_at, who, person, action, target::text as target, reason, jobs", view: "errand.audit",
        order: "id desc")
}
