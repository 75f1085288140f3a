import Errand
import Postgres

/// One job as stored in the database.
public struct RecordedJob: Sendable {
    /// The job's id, the same in every attempt.
    public let id: Int64
    public let kind: JobKind
    public let queue: String
    /// `scheduled`, `available`, `parked`, `running`, `succeeded`, `failed`, `cancelled` or `obsolete`.
    public let state: String
    /// 1 (first) to 4 (last).
    public let priority: Int
    /// Attempts so far.
    public let attempt: Int
    /// The attempt after which a failure is final.
    public let maxAttempts: Int
    public let createdAt: Timestamp
    /// Not to be started before.
    public let runAt: Timestamp
    public let payload: JSONB
    /// The handler's output, or its preliminary output so far.
    public let output: JSONB?
    /// The last error, or why the job was cancelled or became obsolete.
    public let reason: String?
    /// The error of each attempt that failed, the first one first.
    public let errors: [String]
    public let uniqueKey: String?
    public let notAfter: Timestamp?
    public let limitKey: String?
    public let rateKey: String?
    public let guardName: String?
    public let tags: [String]
    public let traceparent: String?
    /// The user whose job it is.
    public let subject: String?
    /// What a parked job waits for: `limit:KEY` or `circuit:NAME`.
    public let parkedFor: String?
    /// The progress that its last attempt has reported, 0 to 1.
    public let progress: Double?
    /// The last message of its last attempt.
    public let message: String?
    /// The lines that its last attempt has logged.
    public let log: [String]

    /// The payload as its kind reads it. Throws what `init(payload:)` of the kind throws.
    public func payload<J: Job>(as kind: J.Type) throws -> J { try J(payload: payload) }

    /// Whether the job is finished.
    public var isFinished: Bool { ["succeeded", "failed", "cancelled", "obsolete"].contains(state) }

    /// The time from its enqueue until it is due.
    public var delay: Duration { runAt - createdAt }
}

extension RecordedJob: CustomStringConvertible {
    /// `job 4 send_receipt {"order": 17}: scheduled in queue mail, due 2026-11-21T12:00:00.000Z, attempt 1 of 6:
    /// refused`
    public var description: String {
        var text = "job \(id) \(kind) \(payload.text.prefix(200)): \(state) in queue \(queue)"
        if state == "scheduled" { text += ", due \(runAt)" }
        if let parkedFor { text += ", waits for \(parkedFor)" }
        if attempt > 0 { text += ", attempt \(attempt) of \(maxAttempts)" }
        if let last = reason ?? errors.last { text += ": \(last)" }
        return text
    }
}

// MARK: - Reading
extension RecordedJob {
    /// Jobs in the order of their enqueue, each with whether its payload is `payload`.
    static func read(
        from database: Database, kind: JobKind? = nil, id: Int64? = nil, isPayload payload: JSONB? = nil
    ) async throws -> [(job: RecordedJob, isPayload: Bool)] {
        try await database.query(
            Statement(
                """
                select id, kind, queue, state, priority, attempt, max_attempts, created_at, run_at, payload, output,
                    reason, array(select one ->> 'error' from jsonb_array_elements(attempts) as one where one ? 'error'),
                    unique_key, not_after, limit_key, rate_key, guard, coalesce(tags, '{}'),
                    options ->> 'traceparent', subject, parked_for,
                    progress::float8, progress_message, coalesce(log, '{}'), coalesce(payload = $3, false)
                from errand.jobs
                where kind = coalesce($1, kind) and id = coalesce($2, id)
                order by id
                """, [kind?.rawValue, id, payload])
        ).map { row in
            let (
                id, kind, queue, state, priority, attempt, maxAttempts, createdAt, runAt, payload, output, reason,
                errors, uniqueKey, notAfter, limitKey, rateKey, guardName, tags, traceparent, subject, parkedFor,
                progress, message, log, isPayload
            ) = try row.decode(
                Int64.self, String.self, String.self, String.self, Int16.self, Int16.self, Int16.self, Timestamp.self,
                Timestamp.self, JSONB.self, JSONB?.self, String?.self, [String].self, String?.self, Timestamp?.self,
                String?.self, String?.self, String?.self, [String].self, String?.self, String?.self, String?.self,
                Double?.self,
                String?.self, [String].self, Bool.self)
            let job = RecordedJob(
                id: id, kind: JobKind(rawValue: kind), queue: queue, state: state, priority: Int(priority),
                attempt: Int(attempt), maxAttempts: Int(maxAttempts), createdAt: createdAt, runAt: runAt,
                payload: payload, output: output, reason: reason, errors: errors, uniqueKey: uniqueKey,
                notAfter: notAfter, limitKey: limitKey, rateKey: rateKey, guardName: guardName, tags: tags,
                traceparent: traceparent, subject: subject, parkedFor: parkedFor, progress: progress, message: message,
                log: log)
            return (job, isPayload)
        }
    }
}
