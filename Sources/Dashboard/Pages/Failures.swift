import Foundation
import Listings
import Postgres

/// The failures, grouped by similar errors.
struct Failures {
    struct Row: Decodable {
        let kind: String
        let queue: String
        let fingerprint: String?
        let failures: Int
        let failures1H: Int
        let retried: Int
        let firstAt: Moment?
        let lastAt: Moment?
        let lastJobId: Int
        let lastError: String?
    }

    struct Group {
        let kind: String
        let queue: String
        let failures: String
        let lastHour: String
        let retried: String
        let first: ShownTime?
        let last: ShownTime?
        let lastJob: Int
        let lastError: String?
        let jobsLink: String
        /// Nil if all of them were retried, or if the caller can't see the error.
        let retryLink: String?
        let discardLink: String?

        init(_ row: Row, now: Date) {
            kind = row.kind
            queue = row.queue
            failures = Amount.count(row.failures)
            lastHour = Amount.count(row.failures1H)
            retried = Amount.count(row.retried)
            first = ShownTime(row.firstAt, now: now)
            last = ShownTime(row.lastAt, now: now)
            lastJob = row.lastJobId
            lastError = row.lastError.map { String($0.prefix(1000)) }
            let query = [("kind", row.kind), ("queue", row.queue), ("fingerprint", row.fingerprint ?? "")]
                .map { "\($0)=\(Dashboard.encoded($1))" }.joined(separator: "&")
            jobsLink = "/jobs?state=failed&\(query)"
            let isOver = row.fingerprint == nil || row.failures == row.retried
            retryLink = isOver ? nil : "/failures/retry?\(query)"
            discardLink = isOver ? nil : "/failures/discard?\(query)"
        }
    }

    let groups: [Group]
    let isEmpty: Bool
    let bulks: [Bulk]
    let hasBulks: Bool

    init(_ rows: [Row], _ bulks: [Bulk.Row], now: Date) {
        groups = rows.map { Group($0, now: now) }
        isEmpty = rows.isEmpty
        self.bulks = bulks.map { Bulk($0, now: now) }
        hasBulks = !bulks.isEmpty
    }
}

/// What a retry of a group would do.
struct RetryPlan {
    struct Row: Decodable {
        let jobs: Int
        let beyond: Int?
        let lastAt: Moment?
    }

    let kind: String
    let queue: String
    let fingerprint: String
    let perMinute: String?
    let jobs: Int
    let count: String
    let isEmpty: Bool
    let beyond: String?
    let lastDue: ShownTime?
    let isPaced: Bool

    init(_ row: Row, _ group: FailureGroup, now: Date) {
        kind = group.kind
        queue = group.queue
        fingerprint = group.fingerprint
        perMinute = group.perMinute.map { "\($0)" }
        jobs = row.jobs
        count = row.jobs == 1 ? "1 job" : "\(Amount.count(row.jobs)) jobs"
        isEmpty = row.jobs == 0
        beyond = row.beyond.flatMap { $0 > 0 ? Amount.count($0) : nil }
        lastDue = ShownTime(row.lastAt, now: now)
        isPaced = group.perMinute != nil
    }
}

/// Which failures, and how fast.
struct FailureGroup {
    let kind: String
    let queue: String
    let fingerprint: String
    let perMinute: Int?

    init(_ fields: FormFields) {
        kind = fields["kind"] ?? ""
        queue = fields["queue"] ?? ""
        fingerprint = fields.whole("fingerprint")
        perMinute = fields["per_minute"].flatMap { Int($0) }
    }

    var filter: JSONB {
        get throws { try JSONB(encoding: ["kind": kind, "queue": queue, "fingerprint": fingerprint]) }
    }
}

extension Dashboard {
    /// The most jobs of one retry or discard. The page offers the next ones afterwards.
    static let mostJobs = 10_000

    func failures(_ visit: Visit) async throws -> Reply {
        let results = try await store.read(
            as: visit.caller,
            [
                Query(Listing.failures.query(limit: "100")),
                Bulk.query,
            ])
        let rows = try results.rows(0, of: Failures.Row.self)
        return page(
            "failures", "Failures", section: "Failures", visit, results, isLive: true,
            Failures(rows, try results.rows(1, of: Bulk.Row.self), now: results.now))
    }

    func retryPlan(_ visit: Visit) async throws -> Reply {
        let group = FailureGroup(visit.query)
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    """
                    select count(*) as jobs, max(beyond) as beyond, max(run_at) as last_at
                    from errand.retry_where($1, per_minute => $2, max_jobs => $3)
                    """, [try group.filter, group.perMinute.map { Int32(clamping: $0) }, Int32(Self.mostJobs)])
            ])
        guard let row = try results.rows(0, of: RetryPlan.Row.self).first else { throw Problem.notFound }
        return page(
            "retry", "Retry failures", section: "Failures", visit, results,
            RetryPlan(row, group, now: results.now))
    }

    func retryFailures(_ visit: Visit) async throws -> Reply {
        let group = FailureGroup(visit.form)
        let retried = try await act(
            visit,
            """
            select count(*)::text
            from errand.retry_where($1, $3, $2, dry_run => false, max_jobs => $4)
            """,
            [
                try group.filter, group.perMinute.map { Int32(clamping: $0) }, visit.form["reason"],
                Int32(Self.mostJobs),
            ])
        return .redirect("/failures?done=" + (retried == "0" ? "none" : "retried-\(retried ?? "0")"))
    }
}
