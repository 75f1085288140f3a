import Logging
import Postgres
import Waiting

@testable import Errand

extension ClaimedJob {
    static let sample = ClaimedJob.sample(1)

    static func sample(
        _ id: Int64, position: Int64 = 1, crashes: Int = 0, limitKey: String? = nil, workerID: Int64 = 1
    ) -> ClaimedJob {
        ClaimedJob(
            id: id, position: position, kind: "noop", queue: "default", priority: 2, attempt: 1, maxAttempts: 2,
            crashes: crashes, createdAt: .init(microseconds: 0), runAt: .init(microseconds: 0),
            startedAt: .init(microseconds: 0), payload: JSONB("null"),
            options: limitKey.flatMap { try? JSONB(#"{"limit_key": "\#($0)"}"#).decode(JobOptions.self) },
            workerID: workerID)
    }
}

/// Attempts without a worker, for a database that is never connected.
struct SampleAttempts {
    let environment: AttemptEnvironment

    init() throws {
        environment = AttemptEnvironment(
            database: Database(
                configuration: try PostgresConfiguration(url: "postgresql:///nowhere"), logger: Logger(label: "test")),
            handlers: Handlers(), memory: AsyncSemaphore(permits: nil), commits: FinishedCounts(),
            logger: Logger(label: "test"))
    }

    func attempt(_ job: ClaimedJob, claimedAt: ContinuousClock.Instant = .now) -> Attempt {
        Attempt(
            job, entry: nil, context: JobContext(job: job, environment: environment, control: AttemptControl()),
            claimedAt: claimedAt)
    }

    func attempts(_ ids: ClosedRange<Int64>, claimedAt: ContinuousClock.Instant = .now) -> [Attempt] {
        ids.map { attempt(.sample($0), claimedAt: claimedAt) }
    }
}
