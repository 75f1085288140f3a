import Postgres

/// The result of an enqueue.
public struct Enqueued: Sendable, Hashable {
    /// The job that is now in the queue.
    public let id: Int64
    /// False if another job already had the unique key. Then `id` is that job's.
    public let isNew: Bool
    /// The job's state now: `scheduled`, `available`, `parked`; `running` if a running job has the key. If one has it
    /// for a time, also a state of ended jobs, and `ended` if that job is no longer on record.
    public let state: String
}

extension Queue {
    /// Enqueues one job, in a transaction of its own.
    ///
    /// - Throws: ``PostgresError``; its `sqlState` is `ER422` for an option out of bounds, `ER413` for a payload over
    ///   256 KB, `ER404` for a guard that isn't registered, a job to wait for that never was or a batch of another
    ///   login, `ER409` for a key that is taken if the option asks for an error, or a batch that has ended. An
    ///   `EncodingError` if the job has no JSON form.
    @discardableResult
    public func enqueue<J: Job>(_ job: J, _ options: EnqueueOption...) async throws -> Enqueued {
        try Self.enqueued(await database.query(enqueueOne(job, EnqueueOption.values(of: options))))
    }

    /// Enqueues one job in the caller's transaction: it exists if and when that commits. Throws as above.
    @discardableResult
    public func enqueue<J: Job>(
        _ job: J, in transaction: Transaction, _ options: EnqueueOption...
    ) async throws -> Enqueued {
        try Self.enqueued(await transaction.query(enqueueOne(job, EnqueueOption.values(of: options))))
    }

    private func enqueueOne<J: Job>(_ job: J, _ values: EnqueueOption.Values) throws -> Statement {
        Statement(
            """
            select job_id, inserted, state
            from errand.enqueue(
                $1, $2, $3, coalesce($4, now() + $5 * interval '1 microsecond'), $6::int4, $7::int4, $8, $9, $10, $11, $12,
                $13, $14, $15, $16, $17, $18, $19, rate_key => $20, unique_for => $21 * interval '1 microsecond',
                unique_while => $22, no_later_than => $23 * interval '1 microsecond',
                order_key => $24, if_head_fails => $25, batch => $26)
            """,
            [
                J.kind.rawValue, try middleware.encoded(job), values.queue, values.runAt,
                values.delay?.wholeMicroseconds,
                values.priority, values.maxAttempts, values.uniqueKey, values.notAfter, values.onConflict.rawValue,
                values.limitKey, values.guardName, values.tags.isEmpty ? nil : values.tags, values.subject,
                try values.options, values.follow, try J.policy.kindDefaults(of: J.kind),
                values.parents.isEmpty ? nil : values.parents, values.ifParentFails.rawValue,
                values.rateKey,
                values.uniqueFor?.wholeMicroseconds, values.uniqueWhile?.rawValue,
                values.noLaterThan?.wholeMicroseconds, values.orderKey, values.ifHeadFails?.rawValue, values.batch,
            ]
        ).prepared
    }

    private static func enqueued(_ rows: Rows) throws -> Enqueued {
        let (id, inserted, state) = try rows.row(of: "errand.enqueue").decode(Int64.self, Bool.self, String.self)
        return Enqueued(id: id, isNew: inserted, state: state)
    }
}
