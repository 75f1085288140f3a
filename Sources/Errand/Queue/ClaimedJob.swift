import Postgres

/// A job that this worker holds, as its claim answered.
struct ClaimedJob: Sendable {
    let id: Int64
    /// Under which line it was claimed: the fence of everything that is written about this attempt.
    let line: Int64
    let kind: JobKind
    let queue: String
    let attempt: Int
    let maxAttempts: Int
    let createdAt: Timestamp
    let runAt: Timestamp
    let startedAt: Timestamp
    /// As it lies in the database. Decoded in the attempt's own task, so that a broken one fails that job only.
    let payload: JSONB
    /// The worker id under which it was claimed.
    let workerID: Int64
}
