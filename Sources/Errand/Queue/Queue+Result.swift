import Postgres

/// A job of one's own that has ended.
public struct EndedJob: Sendable, Hashable {
    public let id: Int64
    /// `succeeded`, `failed`, `cancelled` or `obsolete`.
    public let state: String
    /// What its handler returned.
    public let output: JSONB?
    /// The last error of a failed job; why it was cancelled, or became obsolete.
    public let error: String?
}

/// Why there is no result of a job.
public enum ResultError: Error, Sendable, Hashable {
    /// It ended otherwise than by success.
    case notSucceeded(EndedJob)
    /// It has not ended in time. It goes on.
    case timedOut(id: Int64)
    /// There is no job of the caller's own with that id: it was enqueued without `.followed` or by another login, it is
    /// not committed, or it ended more than 7 days ago.
    case unknown(id: Int64)
}

extension Queue {
    /// Waits for a job that was enqueued with `.followed`, and returns its output.
    ///
    /// ```swift
    /// let job = try await queue.enqueue(MakeReport(month: 11), .followed)
    /// let report = try await queue.result(of: job.id, as: Report.self, timeout: .seconds(30))
    /// ```
    /// Some 10 ms after the job's end, or a second if a notice was lost. All waits of a queue and its copies share one
    /// connection that listens, and one call a second. The enqueue has to be committed before.
    ///
    /// - Throws: ``ResultError``; a `DecodingError` for an output that isn't a `T`; ``PostgresError`` if the database
    ///   can't be reached at the end of the timeout; a `CancellationError`.
    public func result<T: Decodable>(of id: Int64, as type: T.Type, timeout: Duration) async throws -> T {
        let job = try await end(of: id, timeout: timeout)
        guard job.state == "succeeded" else { throw ResultError.notSucceeded(job) }
        return try (job.output ?? JSONB("null")).decode(type)
    }

    /// Waits for the end of a job that was enqueued with `.followed`, whichever it is. Throws as above.
    public func end(of id: Int64, timeout: Duration) async throws -> EndedJob {
        try await follower.end(of: id, timeout: timeout)
    }
}
