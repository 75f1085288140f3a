import Errand
import Postgres

extension TestQueue {
    /// Runs one attempt of `handler` in the place of a worker, and answers what it returned, threw, reported and
    /// logged.
    ///
    /// The job is enqueued for it and really ends, so `context.transaction` commits, or doesn't, as it would. Its time,
    /// limit, guard before the start and memory aren't asked.
    ///
    /// ```swift
    /// let run = try await test.run(SendReceiptHandler(mail: mail), SendReceipt(order: 17), attempt: 6)
    /// #expect(run.outcome == .done)
    /// ```
    /// - Parameters:
    ///   - handler: what runs.
    ///   - job: its payload.
    ///   - options: the job's, as at an enqueue.
    ///   - attempt: the number that the context shows.
    ///   - deadline: instead of the kind's. The attempt is stopped then, and has failed if it goes on for 5 s more.
    ///   - interruption: stops the attempt before it has begun: its task is cancelled from the start. `cancelled` and
    ///     `leaseLost` really happen to the job, so its end is refused.
    /// - Throws: `PostgresError`. The error that the handler throws is in the result.
    public func run<H: JobHandler>(
        _ handler: H, _ job: H.Payload, _ options: EnqueueOption..., attempt: Int = 1, deadline: Duration? = nil,
        interruptedBy interruption: Interruption? = nil
    ) async throws -> HandlerRun {
        try await database.execute(Statement("select errand.register_kinds($1)", [try Handlers([handler]).known]))
        let enqueued = try await queue.enqueue(job, .all(options))
        let lone = LoneAttempt(handler, database: database, deadline: deadline, logger: logger)
        let report = try await lone.run(job: enqueued.id, attempt: attempt, interruption: interruption)
        return HandlerRun(report)
    }
}

/// What one run of a handler has answered, said and left behind.
public struct HandlerRun: Sendable {
    /// The job's id: ``TestQueue/job(_:)`` shows what became of it.
    public let id: Int64
    /// What the handler returned; nil where it threw, or was given up.
    public let outcome: Outcome?
    /// What the handler threw.
    public let error: (any Error)?
    /// What a worker makes of that.
    public let ended: AttemptOutcome
    /// What is on record as the reason of a failure, a retry, a cancellation or a parking.
    public let reason: String?
    /// The end was not written, because the job had been cancelled or run elsewhere meanwhile.
    public let isRefused: Bool
    /// How much was done, 0 to 1, as last reported; nil where it reported nothing.
    public let progress: Double?
    /// What it was doing, as last reported.
    public let message: String?
    /// What `context.output` has shown last.
    public let output: JSONB?
    /// What was logged from `info` on: the last 50 lines, with time, level and metadata.
    public let log: [String]
    public let took: Duration

    init(_ report: LoneAttempt.Report) {
        id = report.completion.job.id
        switch report.answer {
        case .success(let outcome): (self.outcome, error) = (outcome, nil)
        case .failure(let error): (outcome, self.error) = (nil, error)
        case nil: (outcome, error) = (nil, nil)
        }
        ended = report.completion.outcome
        reason = report.completion.result.error
        isRefused = report.isRefused
        progress = report.progress?.fraction
        message = report.progress?.message
        output = report.progress?.output
        log = report.progress?.log ?? []
        took = report.completion.took
    }
}
