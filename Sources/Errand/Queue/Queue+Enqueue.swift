import Postgres

/// What became of an enqueue.
public struct Enqueued: Sendable, Hashable {
    /// The job that is in line now.
    public let id: Int64
    /// False where an unfinished job had the unique key already: `id` is that job's.
    public let isNew: Bool
}

// MARK: - One job
extension Queue {
    /// Puts one job in line, in a transaction of its own.
    ///
    /// - Throws: ``PostgresError``; its `sqlState` is `ER422` for an option out of bounds, `ER413` for a payload over
    ///   256 KB. An `EncodingError` where the job has no JSON form.
    @discardableResult
    public func enqueue<J: Job>(_ job: J, _ options: EnqueueOption...) async throws -> Enqueued {
        try Self.enqueued(await database.query(Self.enqueueOne(job, EnqueueOption.values(of: options))))
    }

    /// Puts one job in line in the caller's transaction: it exists if and when that commits. Throws as above.
    @discardableResult
    public func enqueue<J: Job>(
        _ job: J, in transaction: Transaction, _ options: EnqueueOption...
    ) async throws -> Enqueued {
        try Self.enqueued(await transaction.query(Self.enqueueOne(job, EnqueueOption.values(of: options))))
    }

    private static func enqueueOne<J: Job>(_ job: J, _ values: EnqueueOption.Values) throws -> Statement {
        Statement(
            """
            select job_id, inserted
            from errand.enqueue(
                $1, $2, $3, coalesce($4, now() + $5 * interval '1 microsecond'), $6::int4, $7::int4, $8)
            """,
            [
                J.kind.rawValue, try JSONB(encoding: job), values.queue, values.runAt, values.delay?.wholeMicroseconds,
                values.priority, values.maxAttempts, values.uniqueKey,
            ])
    }

    private static func enqueued(_ rows: Rows) throws -> Enqueued {
        guard let row = rows.first else { throw UnexpectedAnswer("errand.enqueue", expected: "one row", came: "none") }
        let (id, inserted) = try row.decode(Int64.self, Bool.self)
        return Enqueued(id: id, isNew: inserted)
    }
}

// MARK: - Many jobs
extension Queue {
    /// Puts many jobs of one kind in line, all or none, in one round trip. A unique key can't be chosen here.
    ///
    /// - Returns: their ids, in the order of `jobs`.
    /// - Complexity: about 10 µs a job in the database.
    @discardableResult
    public func enqueue<J: Job>(all jobs: [J], _ options: EnqueueOption...) async throws -> [Int64] {
        try Self.ids(await database.query(Self.enqueueAll(jobs, EnqueueOption.values(of: options))))
    }

    /// Puts many jobs of one kind in line in the caller's transaction: they exist if and when that commits.
    @discardableResult
    public func enqueue<J: Job>(
        all jobs: [J], in transaction: Transaction, _ options: EnqueueOption...
    ) async throws -> [Int64] {
        try Self.ids(await transaction.query(Self.enqueueAll(jobs, EnqueueOption.values(of: options))))
    }

    private static func enqueueAll<J: Job>(_ jobs: [J], _ values: EnqueueOption.Values) throws -> Statement {
        precondition(values.uniqueKey == nil, "unique: a key names one job; enqueue these one by one")
        return Statement(
            """
            select errand.enqueue_payloads_v1(
                $1, $2, $3, coalesce($4, now() + $5 * interval '1 microsecond'), $6::int4, $7::int4)
            """,
            [
                J.kind.rawValue, try jobs.map { try JSONB(encoding: $0) }, values.queue, values.runAt,
                values.delay?.wholeMicroseconds, values.priority, values.maxAttempts,
            ])
    }

    private static func ids(_ rows: Rows) throws -> [Int64] {
        try rows.scalar([Int64].self)
    }
}

/// The database answered in a form that this version doesn't know: program and schema don't belong together.
struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String

    init(_ function: String, expected: String, came: String) {
        description = "\(function): expected \(expected), got \(came); run `errand migrate` of this version"
    }
}
