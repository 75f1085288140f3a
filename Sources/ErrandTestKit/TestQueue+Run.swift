import Errand
import Postgres

extension TestQueue {
    /// Runs one attempt of `handler` without a worker. Returns its outcome, error, progress and log.
    ///
    /// The job is enqueued and really completed, so `context.transaction` behaves as in a worker. Due time, limit,
    /// guard before the start and memory are ignored.
    ///
    /// ```swift
    /// let run = try await test.run(SendReceiptHandler(mail: mail), SendReceipt(order: 17), attempt: 6)
    /// #expect(run.outcome == .done)
    /// ```
    /// - Parameters:
    ///   - handler: the handler.
    ///   - job: its payload.
    ///   - options: the options of the enqueue.
    ///   - attempt: the attempt's number.
    ///   - deadline: replaces the deadline of the kind. Then the attempt is stopped, and it fails if it goes on for 5 s
    ///     more.
    ///   - interruption: stops the attempt before it begins: its task is cancelled from the start. `cancelled` and
    ///     `leaseLost` also change the job, so its completion is refused.
    /// - Throws: `PostgresError`. The handler's error is in the result.
    public func run<H: JobHandler>(
        _ handler: H, _ job: H.Payload, _ options: EnqueueOption..., attempt: Int = 1, deadline: Duration? = nil,
        interruptedBy interruption: Interruption? = nil
    ) async throws -> HandlerRun {
        try await database.execute(
            Statement("select errand_internal.register_kinds($1)", [try Handlers([handler]).known]))
        let enqueued = try await queue.enqueue(job, .all(options))
        let single = SingleAttempt(
            handler, middleware: middleware, database: database, deadline: deadline, logger: logger)
        let report = try await single.run(job: enqueued.id, attempt: attempt, interruption: interruption)
        return HandlerRun(report)
    }
}

/// The result of one run of a handler.
public struct HandlerRun: Sendable {
    /// The job's id: ``TestQueue/job(_:)`` shows its state.
    public let id: Int64
    /// What the handler returned; nil if it threw, or didn't stop.
    public let outcome: Outcome?
    /// What the handler threw.
    public let error: (any Error)?
    /// The outcome that a worker would record.
    public let attemptOutcome: AttemptOutcome
    /// The recorded reason of a failure, a retry, a cancellation or a parking.
    public let reason: String?
    /// Whether the outcome was refused, because the job was cancelled or ran elsewhere meanwhile.
    public let isRefused: Bool
    /// The last reported progress, 0 to 1; nil if there is none.
    public let progress: Double?
    /// The last reported message.
    public let message: String?
    /// The last preliminary output of `context.output`.
    public let output: JSONB?
    /// The last 50 log lines of level `info` and above, with time, level and metadata.
    public let log: [String]
    public let took: Duration

    init(_ report: SingleAttempt.Report) {
        id = report.completion.job.id
        switch report.returned {
        case .success(let outcome): (self.outcome, error) = (outcome, nil)
        case .failure(let error): (outcome, self.error) = (nil, error)
        case nil: (outcome, error) = (nil, nil)
        }
        attemptOutcome = report.completion.outcome
        reason = report.completion.error
        isRefused = report.isRefused
        progress = report.progress?.fraction
        message = report.progress?.message
        output = report.progress?.output
        log = report.progress?.log ?? []
        took = report.completion.took
    }
}

extension TestQueue {
    /// Enqueues a job of a kind whose handler is a SQL function (`errand.put_handler`), and runs it with all else that
    /// is due, as ``drain(within:limit:)`` does. Returns the job.
    ///
    /// ```swift
    /// let job = try await test.run("expire_invites")
    /// #expect(job.state == "succeeded")
    /// ```
    public func run(_ kind: JobKind, payload: JSONB = JSONB("{}")) async throws -> RecordedJob {
        let enqueued = try await database.query(
            Statement("select job_id from errand.enqueue($1, $2)", [kind.rawValue, payload])
        ).scalar(Int64.self)
        try await drain()
        return try await job(enqueued)
    }
}
