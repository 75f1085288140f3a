import Errand
import Logging
import Postgres
import Synchronization
import Waiting

/// One attempt of one job without a worker, for tests of handlers.
///
/// The job is a real one in a real database, and its outcome is written as by a worker. Only limits, pauses and other
/// admission rules are ignored.
final class SingleAttempt: Sendable {
    private let environment: AttemptEnvironment
    private let entry: Handlers.Entry
    private let state = Mutex(State())

    private struct State {
        var returned: Result<Outcome, any Error>?
        var completion: Completion?
    }

    /// How long an attempt may take to stop, as in a worker.
    private static let timeout: Duration = .seconds(5)

    /// - Parameter deadline: replaces the deadline of the kind.
    init<H: JobHandler>(
        _ handler: H, middleware: [any Middleware], database: Database, deadline: Duration?, logger: Logger
    ) {
        environment = AttemptEnvironment(
            database: database, handlers: Handlers([handler], middleware: middleware),
            memory: AsyncSemaphore(permits: nil),
            commits: FinishedCounts(), logger: logger)
        entry = Handlers.entry(handler, in: MiddlewareChain(middleware), deadline: deadline)
    }

    /// The result of an attempt.
    struct Report: Sendable {
        /// What the handler returned or threw; nil if it did neither before its deadline.
        let returned: Result<Outcome, any Error>?
        let completion: Completion
        /// Whether the outcome was refused: the job was cancelled, or the worker no longer owned it.
        let isRefused: Bool
        let progress: ProgressBuffer.Report?
    }
}

// MARK: - Running
extension SingleAttempt {
    /// Runs the attempt with this number.
    ///
    /// - Parameter interruption: stops the attempt before it begins. `cancelled` and `leaseLost` also change the job.
    /// - Throws: ``PostgresError``. The handler's error is in the report.
    func run(job id: Int64, attempt: Int, interruption: Interruption?) async throws -> Report {
        let database = environment.database
        let worker = try await register()
        let job = try await take(id, attempt: attempt, worker: worker)
        switch interruption {
        case .cancelled: try await database.execute(Statement("select errand.cancel($1, 'by the test')", [[id]]))
        case .leaseLost: try await database.execute(Statement("select errand_internal.leave_v1($1, true)", [worker]))
        case .deadline, .shutdown, nil: break
        }
        let completion = await completion(of: job, interruption: interruption)
        let progress = environment.progress.take(running: []).first
        let isRefused = try await write(completion, progress)
        try await database.execute(Statement("select errand_internal.leave_v1($1, false)", [worker]))
        return Report(
            returned: state.withLock(\.returned), completion: completion, isRefused: isRefused, progress: progress)
    }

    private func register() async throws -> Int64 {
        var configuration = WorkerConfiguration()
        configuration.name = "test"
        // No heartbeats are sent while the attempt runs, so the lease is long.
        configuration.lease = .seconds(3600)
        configuration.maintenance = false
        let registration = try configuration.registration(of: environment.handlers)
        let worker = try await environment.database.query(registration).row(of: "errand_internal.register_worker_v1")
            .decode(Int64.self)
        return worker
    }

    /// Makes the job a running one of this worker, whatever its state was.
    private func take(_ id: Int64, attempt: Int, worker: Int64) async throws -> ClaimedJob {
        let results = try await environment.database.pipeline([
            Statement(
                """
                update errand.job
                set state = 'available', parked_for = null
                where id = $1 and state in ('scheduled', 'parked')
                """, [id]),
            Statement(
                """
                update errand.job
                set state = 'running', attempt = $2, started_at = now(), worker_id = $3, is_handed_back = null
                where id = $1 and state = 'available'
                returning \(JobColumns.sql), queue
                """, [id, Int16(clamping: attempt), worker]),
            Statement(
                "insert into errand.claim (worker_id, generation, job_ids) values ($1, 0, array[$2])", [worker, id]),
        ])
        guard let queue = try results[1].first?.decode(from: JobColumns.count, String.self) else {
            throw NotWaiting(job: id)
        }
        return try JobColumns(results[1]).jobs(queue: queue, workerID: worker, generation: 0)[0]
    }

    private func completion(of job: ClaimedJob, interruption: Interruption?) async -> Completion {
        let control = AttemptControl()
        let attempt = Attempt(
            job, entry: recording, context: JobContext(job: job, environment: environment, control: control),
            claimedAt: .now)
        if let interruption { control.interrupt(interruption) }
        let ended = Signal()
        begin(attempt, raising: ended)
        await withTaskCancellationHandler {
            let limit = interruption == nil ? entry.policy.deadline : Self.timeout
            if await !ended.wait(atMost: limit), interruption == nil {
                control.interrupt(.deadline)
                await ended.wait(atMost: Self.timeout)
            }
        } onCancel: {
            control.interrupt(.shutdown)
        }
        if let completion = state.withLock(\.completion) { return completion }
        var completion = attempt.abandoned(because: control.interruption ?? .deadline)
        completion.took = .now - attempt.claimedAt
        return completion
    }

    /// A task of its own, as in a worker: it may be stopped while the test goes on, and must not block the test. It
    /// begins after it is attached to the attempt.
    private func begin(_ attempt: Attempt, raising ended: Signal) {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        attempt.control.attach(
            Task {
                for await _ in gate { break }
                let completion = await attempt.run()
                state.withLock { $0.completion = completion }
                ended.raise()
            })
        open.yield()
    }

    /// The handler, with its result recorded.
    private var recording: Handlers.Entry {
        Handlers.Entry(policy: entry.policy) { [self] job, context in
            do {
                let outcome = try await entry.run(job, context)
                state.withLock { $0.returned = .success(outcome) }
                return outcome
            } catch {
                state.withLock { $0.returned = .failure(error) }
                throw error
            }
        }
    }

    /// Returns whether the outcome was refused.
    private func write(_ completion: Completion, _ progress: ProgressBuffer.Report?) async throws -> Bool {
        let writes = Completion.statements(for: [completion])
        let release = [Completion.release(after: [completion])].compactMap(\.self)
        let reports = try progress.map { [try ProgressBuffer.statement(for: [$0])] } ?? []
        let statements = writes + release + reports
        guard !statements.isEmpty else { return false }
        let results = try await environment.database.pipeline(statements)
        let reply = try CompletionReply(results.prefix(writes.count))
        return !reply.refused.isEmpty || !reply.locked.isEmpty
    }
}

/// The job to run has ended, or is running.
struct NotWaiting: Error, CustomStringConvertible {
    let job: Int64
    var description: String { "job \(job): expected one that waits, got one that is running or has ended" }
}
