import Postgres

/// Reads claimed jobs column by column, which is faster for many rows.
package struct JobColumns {
    /// The columns, in the order in which errand_internal.claim_v1 returns them, for queries of errand.job.
    package static let sql = """
        id, queue_position, kind, attempt, max_attempts, priority, created_at, run_at, started_at,
        coalesce(payload, errand_internal.large_payload(payload_day, id)), nullif(errand_internal.job_options(job), '{}'), crashes
        """
    package static let count: Int32 = 12

    private let ids: [Int64]
    private let positions: [Int64]
    private let kinds: [String]
    private let attempts: [Int16]
    private let maxAttempts: [Int16]
    private let priorities: [Int16]
    private let createdAt: [Timestamp]
    private let runAt: [Timestamp]
    private let startedAt: [Timestamp]
    private let payloads: [JSONB]
    private let options: [JSONB?]
    private let crashes: [Int16]

    package init(_ rows: Rows) throws(PostgresError) {
        ids = try rows.column(0, as: Int64.self)
        positions = try rows.column(1, as: Int64.self)
        kinds = try rows.column(2, as: String.self)
        attempts = try rows.column(3, as: Int16.self)
        maxAttempts = try rows.column(4, as: Int16.self)
        priorities = try rows.column(5, as: Int16.self)
        createdAt = try rows.column(6, as: Timestamp.self)
        runAt = try rows.column(7, as: Timestamp.self)
        startedAt = try rows.column(8, as: Timestamp.self)
        payloads = try rows.column(9, as: JSONB.self)
        options = try rows.column(10, as: JSONB?.self)
        crashes = try rows.column(11, as: Int16.self)
    }

    /// The jobs, as claimed by a worker id.
    ///
    /// - Throws: a `DecodingError` for options that can't be read.
    package func jobs(queue: String, workerID: Int64, generation: Int32) throws -> [ClaimedJob] {
        try ids.indices.map { row in
            ClaimedJob(
                id: ids[row], position: positions[row], kind: JobKind(rawValue: kinds[row]), queue: queue,
                priority: Int(priorities[row]), attempt: Int(attempts[row]), maxAttempts: Int(maxAttempts[row]),
                crashes: Int(crashes[row]), createdAt: createdAt[row], runAt: runAt[row], startedAt: startedAt[row],
                payload: payloads[row], options: try options[row]?.decode(JobOptions.self), workerID: workerID,
                generation: generation)
        }
    }
}
