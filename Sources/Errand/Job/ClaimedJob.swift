import Postgres

/// A job that this worker has leased, as its claim returned it. A class, because it is passed from claim to completion.
package final class ClaimedJob: Sendable {
    package let id: Int64
    /// The position at which the job was claimed. All writes about this attempt are fenced by it.
    let position: Int64
    package let kind: JobKind
    package let queue: String
    /// 1 to 4.
    let priority: Int
    package let attempt: Int
    let maxAttempts: Int
    /// Consecutive attempts that were lost with their worker.
    let crashes: Int
    let createdAt: Timestamp
    let runAt: Timestamp
    let startedAt: Timestamp
    /// As stored in the database. It is decoded in the attempt's own task, so that a broken payload fails its own job
    /// only.
    let payload: JSONB
    /// The options of the enqueue; nil for most jobs.
    let options: JobOptions?
    /// The worker id that claimed the job.
    let workerID: Int64
    /// The generation of its claim: see ``ClaimGenerations``.
    let generation: Int32

    init(
        id: Int64, position: Int64, kind: JobKind, queue: String, priority: Int, attempt: Int, maxAttempts: Int,
        crashes: Int = 0, createdAt: Timestamp, runAt: Timestamp, startedAt: Timestamp, payload: JSONB,
        options: JobOptions?, workerID: Int64, generation: Int32 = 0
    ) {
        self.id = id
        self.position = position
        self.kind = kind
        self.queue = queue
        self.priority = priority
        self.attempt = attempt
        self.maxAttempts = maxAttempts
        self.crashes = crashes
        self.createdAt = createdAt
        self.runAt = runAt
        self.startedAt = startedAt
        self.payload = payload
        self.options = options
        self.workerID = workerID
        self.generation = generation
    }

    /// Whether somebody wants to know its end.
    var isFollowed: Bool { options?.forWorker.owner != nil }

    /// Microseconds from due to claimed, by the database's clock; 0 for a job that was due at `-infinity`.
    var waitedMicroseconds: Int64 {
        let (waited, isTooLong) = startedAt.microseconds.subtractingReportingOverflow(runAt.microseconds)
        return isTooLong ? 0 : max(0, waited)
    }
}

/// The options of a job that its worker needs: errand_internal.job_options.
struct JobOptions: Sendable, Decodable {
    let notAfter: Timestamp?
    let guardName: String?
    let limitKey: String?
    let orderKey: String?
    let tags: [String]?
    let forWorker: WorkerOptions

    private enum CodingKeys: String, CodingKey {
        case notAfter = "not_after"
        case guardName = "guard"
        case limitKey = "limit_key"
        case orderKey = "order_key"
        case tags
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        notAfter = try container.decodeIfPresent(Int64.self, forKey: .notAfter).map(Timestamp.init(microseconds:))
        guardName = try container.decodeIfPresent(String.self, forKey: .guardName)
        limitKey = try container.decodeIfPresent(String.self, forKey: .limitKey)
        orderKey = try container.decodeIfPresent(String.self, forKey: .orderKey)
        tags = try container.decodeIfPresent([String].self, forKey: .tags)
        forWorker = try WorkerOptions(from: decoder)
    }
}
