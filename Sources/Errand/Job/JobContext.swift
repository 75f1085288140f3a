import Logging
import Postgres
import Waiting

/// The attempt that is running, and the worker that runs it.
public struct JobContext: Sendable {
    let job: ClaimedJob
    let environment: AttemptEnvironment
    let control: AttemptControl

    package init(job: ClaimedJob, environment: AttemptEnvironment, control: AttemptControl) {
        self.job = job
        self.environment = environment
        self.control = control
    }

    /// The worker's database, for the handler's own reads and writes.
    public var database: Database { environment.database }

    /// Adds `job_id`, `kind`, `queue`, `attempt`, `worker_id` and, if there is a trace, `trace_id` to every line. The
    /// last lines are stored with the job: at most 50 lines of level `info` and above, and 8 KB.
    public var logger: Logger {
        var logger = environment.logger
        logger.handler = JobLog(inner: logger.handler, progress: environment.progress, job: job)
        logger[metadataKey: "job_id"] = .stringConvertible(id)
        logger[metadataKey: "kind"] = "\(kind)"
        logger[metadataKey: "queue"] = "\(queue)"
        logger[metadataKey: "attempt"] = .stringConvertible(attempt)
        logger[metadataKey: "worker_id"] = .stringConvertible(job.workerID)
        if let traceID { logger[metadataKey: "trace_id"] = "\(traceID)" }
        return logger
    }

    /// The job's id, the same in every attempt.
    public var id: Int64 { job.id }
    public var kind: JobKind { job.kind }
    public var queue: String { job.queue }
    /// This attempt's number, counted from 1.
    public var attempt: Int { job.attempt }
    /// The attempt after which a failure is final.
    public var maxAttempts: Int { job.maxAttempts }
    /// When the job was enqueued, by the database's clock.
    public var createdAt: Timestamp { job.createdAt }
    /// The moment after which no attempt may start; nil if there is none.
    public var notAfter: Timestamp? { job.options?.notAfter }
    /// Words to find the job by.
    public var tags: [String] { job.options?.tags ?? [] }
    /// The trace of the enqueue, in W3C Trace Context format.
    public var traceparent: String? { job.options?.forWorker.traceparent }

    /// The batch that the job is in, to which it may add jobs: ``EnqueueOption/batch(_:)``. Nil if it is in none.
    public var batch: Int64? { job.options?.forWorker.batch }

    /// What the job has waited for, by ``Outcome/wait(for:until:by:)``; nil if it hasn't.
    public var signal: ReceivedSignal? {
        job.options?.forWorker.signal.map { ReceivedSignal(name: $0.name, payload: $0.payload.map(JSONB.init)) }
    }

    /// The trace of this attempt where the program has a tracer, else that of the enqueue.
    private var traceID: String? {
        let own = environment.tracer == nil ? nil : TraceParent.current
        return (own ?? traceparent.flatMap(TraceParent.init))?.traceID
    }

    /// Why the attempt was asked to stop; nil if it wasn't. It is set before the task is cancelled.
    public var interruption: Interruption? { control.interruption }
}

// MARK: - While it runs
extension JobContext {
    /// Reports progress to operators: `errand.job_progress` shows it within a second.
    ///
    /// - Parameters:
    ///   - fraction: how much is done. Values are clamped to 0...1.
    ///   - message: what the attempt is doing, up to 1,000 characters; nil keeps the last message.
    public func progress(_ fraction: Double, _ message: String? = nil) {
        environment.progress.update(job) { report in
            report.fraction = min(1, max(0, fraction))
            report.message = message ?? report.message
        }
    }

    /// Publishes a preliminary output, as JSON of at most 256 KB. The output of the outcome is stored separately.
    ///
    /// - Throws: ``OutputTooLarge`` for a larger one, which fails the job for good; an `EncodingError`.
    public func output(_ output: some Encodable) throws {
        let output = try JSONB(encoding: output).checkedAsOutput()
        environment.progress.update(job) { $0.output = output }
    }

    /// Runs `body` once this much of the worker's memory budget is free. A need above the whole budget runs alone.
    ///
    /// For a need that the attempt computes, such as from a picture's header. A need that is the same for every attempt
    /// belongs in the policy. First come, first served.
    /// - Throws: what `body` throws; a `CancellationError` if the attempt was stopped before.
    public func withMemory<T: Sendable>(_ bytes: Int, _ body: () async throws -> T) async throws -> T {
        try await environment.memory.with(bytes, body)
    }
}

/// Why an attempt was asked to stop.
public enum Interruption: String, Sendable, Hashable {
    /// The attempt ran longer than its kind's policy allows.
    case deadline
    /// An operator cancelled the job: its outcome is already recorded.
    case cancelled
    /// The worker lost its lease: the job runs on another worker.
    case leaseLost = "lease lost"
    /// The worker is stopping, and its grace period is over.
    case shutdown
}
