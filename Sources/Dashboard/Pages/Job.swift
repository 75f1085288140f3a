import Foundation
import HTTPTypes
import Postgres

/// A job: why it is where it is, what it tried, and what can be done.
struct JobPage {
    struct Row: Decodable {
        let id: Int
        let queue: String
        let kind: String
        let state: String
        let priority: Int
        let attempt: Int
        let maxAttempts: Int
        let crashes: Int
        let runAt: Moment?
        let createdAt: Moment?
        let startedAt: Moment?
        let finishedAt: Moment?
        let workerId: Int?
        let uniqueKey: String?
        let waitingKey: String?
        let orderKey: String?
        let rateKey: String?
        /// Of its batch, and of the one whose callback it is.
        let batch: String?
        let callbackOf: String?
        /// The signal that it waits for.
        let signal: String?
        let parents: Int
        let ifParentFails: String?
        let payload: String?
        let output: String?
        let reason: String?
        let notAfter: Moment?
        let limitKey: String?
        let `guard`: String?
        let tags: [String]?
        let traceparent: String?
        let subject: String?
        let waitingFor: String?
        let progress: Double?
        let progressMessage: String?
        let log: [String]?
    }

    struct AttemptRow: Decodable {
        let attempt: Int
        let outcome: String?
        let worker: String?
        let startedAt: Moment?
        let endedAt: Moment?
        let error: String?
    }

    struct ExplainRow: Decodable {
        let code: String
        let detail: String
        let hint: String?
    }

    struct Fact {
        let name: String
        let value: String
        let link: String?
        let time: ShownTime?
    }

    /// A reason, in which each `job 17` is a link.
    struct Reason {
        struct Part {
            let text: String
            let job: Int?
        }

        let code: String
        let parts: [Part]
        let hint: String?

        init(_ row: ExplainRow, of id: Int) {
            code = row.code
            hint = row.hint
            var parts: [Part] = []
            var rest = row.detail[...]
            while let match = rest.firstMatch(of: /\bjob ([0-9]{1,19})\b/) {
                let job = Int(match.1)
                parts.append(Part(text: String(rest[..<match.range.lowerBound]), job: nil))
                parts.append(Part(text: String(match.0), job: job == id ? nil : job))
                rest = rest[match.range.upperBound...]
            }
            self.parts = parts + [Part(text: String(rest), job: nil)]
        }
    }

    struct Attempt {
        let number: Int
        let outcome: String
        let tone: String
        let worker: String?
        let ended: ShownTime?
        let took: String?
        let error: String?
    }

    let id: Int
    let kind: String
    let state: JobState
    let facts: [Fact]
    let reasons: [Reason]
    let payload: String?
    let payloadRows: Int
    let output: String?
    let error: String?
    let note: String?
    let attempts: [Attempt]
    let hasAttempts: Bool
    let progress: Int?
    let progressMessage: String?
    let log: String?
    let audit: [AuditPage.Entry]
    let hasAudit: Bool
    let canRetry: Bool
    let canCancel: Bool
    let canDiscard: Bool
    let canReschedule: Bool
    let canEdit: Bool
    let canChange: Bool
    /// The name of the signal that somebody may send; nil if the job waits for none.
    let signal: String?
    let flow: JobFlow
    let steps: JobSteps

    init(
        _ row: Row, attempts: [AttemptRow], reasons: [ExplainRow], audit: [AuditPage.Row], flow: [FlowRow],
        steps: [JobSteps.Row], now: Date
    ) {
        id = row.id
        kind = row.kind
        state = JobState(row.state)
        facts = Self.facts(row, now: now)
        self.reasons = reasons.map { Reason($0, of: row.id) }
        payload = row.payload
        payloadRows = min(24, max(4, (row.payload ?? "").split(separator: "\n").count + 1))
        output = row.output
        error = row.state == "failed" ? row.reason : nil
        note = row.state == "failed" ? nil : row.reason
        self.attempts = Self.attempts(attempts, now: now)
        hasAttempts = !attempts.isEmpty
        progress = row.progress.map { Int((100 * min(1, max(0, $0))).rounded(.down)) }
        progressMessage = row.progressMessage
        log = row.log.flatMap { $0.isEmpty ? nil : $0.joined(separator: "\n") }
        self.audit = audit.map { AuditPage.Entry($0, now: now) }
        hasAudit = !audit.isEmpty
        canRetry = ["failed", "cancelled", "scheduled"].contains(row.state)
        canCancel = ["scheduled", "available", "parked", "running"].contains(row.state)
        canDiscard = row.state == "failed"
        canReschedule = ["scheduled", "available", "parked"].contains(row.state)
        canEdit = ["scheduled", "available", "parked", "failed"].contains(row.state)
        canChange = canRetry || canCancel || canEdit
        signal = row.signal
        self.flow = JobFlow(flow, parents: row.parents, ifParentFails: row.ifParentFails)
        self.steps = JobSteps(steps, attempts: attempts, attempt: row.attempt, now: now)
    }

    private static func attempts(_ rows: [AttemptRow], now: Date) -> [Attempt] {
        rows.map { row in
            let outcome = row.outcome ?? "unknown"
            let tone = ["failed", "lost", "crashed"].contains(outcome) ? "bad" : "quiet"
            let took = row.startedAt?.date.flatMap { start in row.endedAt?.date.map { $0.timeIntervalSince(start) } }
            return Attempt(
                number: row.attempt, outcome: outcome, tone: tone, worker: row.worker,
                ended: ShownTime(row.endedAt, now: now), took: took.map { Amount.duration($0) }, error: row.error)
        }
    }

    private static func facts(_ row: Row, now: Date) -> [Fact] {
        func text(_ name: String, _ value: String?, link: String? = nil) -> Fact? {
            value.map { Fact(name: name, value: $0, link: link, time: nil) }
        }
        func time(_ name: String, _ moment: Moment?) -> Fact? {
            ShownTime(moment, now: now).map { Fact(name: name, value: "", link: nil, time: $0) }
        }
        let tags = row.tags ?? []
        return [
            text("Queue", row.queue, link: "/jobs?queue=\(Dashboard.encoded(row.queue))"),
            text("Kind", row.kind, link: "/jobs?kind=\(Dashboard.encoded(row.kind))"),
            text("Priority", "\(row.priority) of 4"),
            text("Attempts", "\(row.attempt) of \(row.maxAttempts)"),
            row.crashes > 0 ? text("Crashes", "\(row.crashes)") : nil,
            time("Enqueued", row.createdAt), time("Due", row.runAt), time("Started", row.startedAt),
            time("Ended", row.finishedAt), time("Not after", row.notAfter),
            text("Waits", row.waitingFor), text("Unique key", row.uniqueKey),
            text("Key while it waits", row.waitingKey), text("Order key", row.orderKey),
            text("Batch", row.batch, link: "/batches/\(Dashboard.encoded(row.batch ?? ""))"),
            text("Callback of batch", row.callbackOf, link: "/batches/\(Dashboard.encoded(row.callbackOf ?? ""))"),
            text("Limit", row.limitKey), text("Rate", row.rateKey), text("Guard", row.guard),
            tags.isEmpty ? nil : text("Tags", tags.joined(separator: ", ")),
            text("Worker", row.workerId.map { "\($0)" }), text("Trace", row.traceparent),
            text("Subject", row.subject),
        ].compactMap(\.self)
    }
}

extension Dashboard {
    func job(_ visit: Visit) async throws -> Reply {
        let id = try visit.number("id")
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    """
                    select id, queue, kind, state, priority, attempt, max_attempts, crashes, run_at, created_at, started_at,
                        finished_at, worker_id, unique_key, waiting_key, options ->> 'order_key' as order_key, rate_key,
                        options ->> 'batch' as batch, options ->> 'callback_of' as callback_of,
                        case
                            when parked_for like 'signal:%' and parked_for not like 'signal:callback/%'
                                then substr(parked_for, length('signal:') + 1)
                        end as signal,
                        coalesce(jsonb_array_length(options -> 'after'), 0) as parents,
                        options ->> 'if_parent_fails' as if_parent_fails, jsonb_pretty(errand.mask_secrets(payload)) as payload,
                        jsonb_pretty(errand.mask_secrets(output)) as output, reason, not_after, limit_key, guard, tags,
                        options ->> 'traceparent' as traceparent, subject, waiting_for, progress, progress_message, log
                    from errand.jobs
                    where id = $1
                    order by finished_at desc nulls first
                    limit 1
                    """, [id]),
                Query(
                    """
                    select (attempt ->> 'attempt')::int as attempt, attempt ->> 'outcome' as outcome,
                        attempt ->> 'worker' as worker, (attempt ->> 'started_at')::timestamptz as started_at,
                        (attempt ->> 'ended_at')::timestamptz as ended_at, attempt ->> 'error' as error
                    from (
                        select attempts
                        from errand.jobs
                        where id = $1
                        order by finished_at desc nulls first
                        limit 1) as existing
                    cross join lateral jsonb_array_elements(existing.attempts) with ordinality as each_of(attempt, ordinal)
                    order by ordinal desc
                    limit 50
                    """, [id]),
                Query("select code, detail, hint from errand.explain($1) order by rank", [id]),
                Query(AuditPage.query(where: "job_ids @> array[$1::bigint]") + " limit 50", [id]),
                Query("select * from errand.flow_of($1, $2, 1)", [id, Int32(2 * JobFlow.mostJobs + 1)]),
                JobSteps.query(of: id),
            ])
        guard let row = try results.rows(0, of: JobPage.Row.self).first else {
            throw Problem.noJob(id)
        }
        let view = JobPage(
            row, attempts: try results.rows(1, of: JobPage.AttemptRow.self),
            reasons: try results.rows(2, of: JobPage.ExplainRow.self),
            audit: try results.rows(3, of: AuditPage.Row.self), flow: try results.rows(4, of: FlowRow.self),
            steps: try results.rows(5, of: JobSteps.Row.self), now: results.now)
        let isUnfinished = row.finishedAt == nil
        return page(
            "job", "Job \(id)", section: "Jobs", visit, results, isLive: isUnfinished, view)
    }
}
