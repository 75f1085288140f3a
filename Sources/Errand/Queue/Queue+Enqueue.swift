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
        try values.statement(
            of: J.kind, middleware.encoded(job), kindDefaults: J.policy.kindDefaults(of: J.kind)
        ).prepared
    }

    private static func enqueued(_ rows: Rows) throws -> Enqueued {
        let (id, inserted, state) = try rows.row(of: "errand.enqueue").decode(Int64.self, Bool.self, String.self)
        return Enqueued(id: id, isNew: inserted, state: state)
    }
}
