import Logging
import Postgres

/// What an attempt knows of itself and of the worker that runs it.
public struct JobContext: Sendable {
    let job: ClaimedJob
    let environment: AttemptEnvironment
    let control: AttemptControl

    package init(job: ClaimedJob, environment: AttemptEnvironment, control: AttemptControl) {
        self.job = job
        self.environment = environment
        self.control = control
    }

    /// The worker's database, for reads and writes of the handler's own.
    public var database: Database { environment.database }

    /// Carries `job_id`, `kind`, `queue`, `attempt`, `worker_id` and, where there is a trace, `trace_id` with every
    /// line. Its last lines are stored with the job: at most 50 from `info` on, and 8 KB.
    public var logger: Logger {
        var logger = environment.logger
        logger.handler = JobLog(inner: logger.handler, progress: environment.progress, job: job)
        logger[metadataKey: "job_id"] = "\(id)"
        logger[metadataKey: "kind"] = "\(kind)"
        logger[metadataKey: "queue"] = "\(queue)"
        logger[metadataKey: "attempt"] = "\(attempt)"
        logger[metadataKey: "worker_id"] = "\(job.workerID)"
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
    /// The moment after which no attempt may start; nil where there is none.
    public var notAfter: Timestamp? { job.options?.notAfter }
    /// Words to find the job by.
    public var tags: [String] { job.options?.tags ?? [] }
    /// The trace of its enqueue, as W3C Trace Context writes it.
    public var traceparent: String? { job.options?.traceparent }

    /// The trace of this attempt where the program has a tracer, else that of the enqueue.
    private var traceID: String? {
        let own = environment.tracer == nil ? nil : TraceParent.current
        return (own ?? traceparent.flatMap(TraceParent.init))?.traceID
    }

    /// Why the attempt was asked to stop; nil while it wasn't. Set before its task is cancelled.
    public var interruption: Interruption? { control.interruption }
}

// MARK: - While it runs
extension JobContext {
    /// Says how far the attempt is, for people who look at the job: `errand.job_progress` has it within a second.
    ///
    /// - Parameters:
    ///   - fraction: how much is done, 0 to 1; what is beyond counts as that.
    ///   - message: what it is doing, up to 1,000 characters; nil leaves the last one.
    public func progress(_ fraction: Double, _ message: String? = nil) {
        environment.progress.update(job) { report in
            report.fraction = min(1, max(0, fraction))
            report.message = message ?? report.message
        }
    }

    /// Shows what the attempt has found so far, as JSON of at most 256 KB. What it returns at its end is stored
    /// elsewhere.
    public func output(_ output: some Encodable) throws {
        let output = try JSONB(encoding: output)
        environment.progress.update(job) { $0.output = output }
    }

    /// Runs `body` once so many bytes of the worker's memory budget are free; more than all of it waits until it is
    /// alone.
    ///
    /// For a need that the attempt has to compute, such as from a picture's header; what is the same for each attempt
    /// stands in the policy. First come, first served.
    /// - Throws: what `body` throws; a `CancellationError` if the attempt was stopped before.
    public func withMemory<T: Sendable>(_ bytes: Int, _ body: () async throws -> T) async throws -> T {
        try await environment.memory.with(bytes, body)
    }
}

/// Why an attempt was asked to stop.
public enum Interruption: String, Sendable, Hashable {
    /// It ran longer than its kind's policy allows.
    case deadline
    /// Ops cancelled the job: its outcome is on record already.
    case cancelled
    /// The worker lost its lease: the job runs elsewhere.
    case leaseLost = "lease lost"
    /// The worker stops, and its grace period is over.
    case shutdown
}
