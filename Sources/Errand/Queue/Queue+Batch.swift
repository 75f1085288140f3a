import Postgres

/// A job that is enqueued once the jobs of a batch have ended: ``Queue/openBatch(_:onSuccess:onFinish:onFailure:)``.
///
/// If its payload is a JSON object, and isn't encrypted, it gets one more key, `batch`: a ``BatchSummary``.
public struct BatchCallback: Sendable {
    /// As errand.batch_open takes it.
    let element: @Sendable (MiddlewareChain) throws -> JSONB

    public init<J: Job>(_ job: J) {
        element = { middleware in
            var text = #"{"kind": "\#(J.kind.rawValue)", "payload": "# + (try middleware.encoded(job)).text
            if let defaults = try J.policy.kindDefaults(of: J.kind) { text += #", "kind_defaults": "# + defaults.text }
            return JSONB(text + "}")
        }
    }
}

/// What the payload of a ``BatchCallback`` has under the key `batch`.
public struct BatchSummary: Codable, Sendable, Hashable {
    public let id: Int64
    public let name: String
    /// `success`, `finish` or `failure`.
    public let event: String
    /// All of its jobs so far.
    public let total: Int64
    public let failed: Int64
    /// Cancelled and discarded ones.
    public let cancelled: Int64
    public let obsolete: Int64
}

/// How far a batch is.
public struct BatchStatus: Sendable, Hashable {
    /// `open`, `closed` or `ended`.
    public let state: String
    /// All of its jobs so far.
    public let total: Int64
    /// Those that have not ended.
    public let waiting: Int64
    public let failed: Int64
    /// Cancelled and discarded ones.
    public let cancelled: Int64
    public let obsolete: Int64
    /// `succeeded` or `failed`, as it was at the end; nil if the batch has not ended.
    public let outcome: String?

    /// The part that has ended, 0 to 1; nil without jobs.
    public var progress: Double? { total == 0 ? nil : Double(total - waiting) / Double(total) }
}

extension Queue {
    /// Opens a batch, and returns its id for ``EnqueueOption/batch(_:)``. It ends once it is closed and none of its
    /// jobs is left. Then its callbacks are enqueued, each once.
    ///
    /// ```swift
    /// let batch = try await queue.openBatch("import", onSuccess: BatchCallback(Publish(file: file)))
    /// try await queue.enqueue(all: lines.map(ImportLine.init), .batch(batch))
    /// try await queue.closeBatch(batch)
    /// ```
    /// - Parameters:
    ///   - name: 1 to 200 characters, for people.
    ///   - onSuccess: enqueued if all jobs have succeeded.
    ///   - onFinish: enqueued when all have ended, in whichever way.
    ///   - onFailure: enqueued when the first one has failed for good, was cancelled or became obsolete.
    /// - Throws: ``PostgresError``; its `sqlState` is `ER422` for a name that is none. An `EncodingError` if a job has
    ///   no JSON form.
    public func openBatch(
        _ name: String, onSuccess: BatchCallback? = nil, onFinish: BatchCallback? = nil,
        onFailure: BatchCallback? = nil
    ) async throws -> Int64 {
        let callbacks = try [onSuccess, onFinish, onFailure].map { try $0?.element(middleware) }
        return try await database.query(
            Statement("select errand.batch_open($1, $2, $3, $4)", [name, callbacks[0], callbacks[1], callbacks[2]])
        ).scalar(Int64.self)
    }

    /// Says that the batch is complete: it ends once none of its jobs is left. Its own jobs may still add some. Returns
    /// whether it was open.
    ///
    /// - Throws: ``PostgresError``; its `sqlState` is `ER404` for a batch of another login.
    @discardableResult
    public func closeBatch(_ id: Int64) async throws -> Bool {
        try await database.query(Statement("select errand.batch_close($1)", [id])).scalar(Bool.self)
    }

    /// How far the batch is. Throws as above.
    public func batchStatus(_ id: Int64) async throws -> BatchStatus {
        let rows = try await database.query(
            Statement(
                "select state, total, waiting, failed, cancelled, obsolete, outcome from errand.batch_status($1)",
                [id]))
        let (state, total, waiting, failed, cancelled, obsolete, outcome) = try rows.row(of: "errand.batch_status")
            .decode(String.self, Int64.self, Int64.self, Int64.self, Int64.self, Int64.self, String?.self)
        return BatchStatus(
            state: state, total: total, waiting: waiting, failed: failed, cancelled: cancelled, obsolete: obsolete,
            outcome: outcome)
    }

    /// Cancels the jobs of the batch that have not ended. Close it first, or it goes on with later ones. Returns how
    /// many there were. Throws as above.
    @discardableResult
    public func cancelBatch(_ id: Int64, reason: String) async throws -> Int64 {
        try await repeating("select errand.batch_cancel($1, $2)", [id, reason])
    }

    /// Retries the jobs of the batch that have failed or were cancelled. Returns how many there were. If the batch has
    /// ended, its callbacks are not enqueued again. Throws as above.
    @discardableResult
    public func retryBatch(_ id: Int64, reason: String) async throws -> Int64 {
        try await repeating("select errand.batch_retry($1, $2)", [id, reason])
    }

    /// Calls a function that changes 10,000 jobs at a time until none is left. Returns how many there were.
    private func repeating(_ call: String, _ arguments: [any PostgresEncodable]) async throws -> Int64 {
        var changed: Int64 = 0
        while true {
            let count = try await database.query(Statement(call, arguments)).scalar(Int64.self)
            if count == 0 { return changed }
            changed += count
        }
    }
}
