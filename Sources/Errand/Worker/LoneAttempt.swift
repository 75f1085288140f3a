import Logging
import Postgres
import Synchronization

/// One attempt of one job without a worker around it, for tests of handlers.
///
/// The job is a real one in a real database, and its end is written as a worker writes it. Only what holds jobs back, such
/// as limits and pauses, isn't asked.
package final class LoneAttempt: Sendable {
    private let database: Database
    private let shared: WorkerState
    private let entry: Handlers.Entry
    private let state = Mutex(State())

    private struct State {
        var answer: Result<Outcome, any Error>?
        var completion: Completion?
    }

    /// How long an attempt that was asked to stop may take to do so, as in a worker.
    private static let patience: Duration = .seconds(5)

    /// - Parameter deadline: instead of the kind's.
    package init<H: JobHandler>(_ handler: H, database: Database, deadline: Duration?, logger: Logger) {
        var configuration = WorkerConfiguration()
        configuration.name = "test"
        // Nothing beats while the attempt runs, and none takes that long.
        configuration.lease = .seconds(3600)
        self.database = database
        let handlers = Handlers([handler])
        shared = WorkerState(database: database, handlers: handlers, configuration: configuration, logger: logger)
        entry = Handlers.entry(handler, deadline: deadline)
    }

    /// What an attempt has answered, said and left behind.
    package struct Report: Sendable {
        /// What the handler returned or threw; nil where it did neither, though its time was over.
        package let answer: Result<Outcome, any Error>?
        package let end: AttemptEnd
        /// The end was not written: the job had been cancelled, or was no longer this worker's.
        package let isRefused: Bool
        package let fraction: Double?
        package let message: String?
        package let output: JSONB?
        package let log: [String]
    }
}

// MARK: - Running
extension LoneAttempt {
    /// Runs the job's attempt of that number to its end.
    ///
    /// - Parameter interruption: what the attempt is stopped by before it has begun; `cancelled` and `leaseLost` really
    ///   happen to the job.
    /// - Throws: ``PostgresError``. What the handler throws stands in the report.
    package func run(job id: Int64, attempt: Int, interruption: Interruption?) async throws -> Report {
        let worker = try await database.query(try shared.registration).first?.decode(Int64.self)
        guard let worker else {
            throw UnexpectedAnswer("errand.register_worker_v1", expected: "one row", came: "none")
        }
        let job = try await take(id, attempt: attempt, worker: worker)
        switch interruption {
        case .cancelled: try await database.execute(Statement("select errand.cancel($1, 'by the test')", [[id]]))
        case .leaseLost: try await database.execute(Statement("select errand.leave_v1($1, true)", [worker]))
        case .deadline, .shutdown, nil: break
        }
        let completion = await completion(of: job, interruption: interruption)
        let note = shared.environment.progress.take(running: []).first
        let isRefused = try await write(completion, note: note)
        try await database.execute(Statement("select errand.leave_v1($1, false)", [worker]))
        return Report(
            answer: state.withLock(\.answer), end: AttemptEnd(completion), isRefused: isRefused,
            fraction: note?.fraction, message: note?.message, output: note?.output, log: note?.log ?? [])
    }

    /// Makes the job one that this worker is running, wherever it was.
    private func take(_ id: Int64, attempt: Int, worker: Int64) async throws -> ClaimedJob {
        let answers = try await database.pipeline([
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
                returning
                    line, kind, queue, priority, max_attempts, created_at, run_at, started_at,
                    coalesce(payload, errand.large_payload(payload_day, id)), nullif(errand.job_options(job), '{}')
                """, [id, Int16(clamping: attempt), worker]),
            Statement("insert into errand.claim (worker_id, epoch, job_ids) values ($1, 0, array[$2])", [worker, id]),
        ])
        guard let row = answers[1].first else { throw NotWaiting(job: id) }
        let (line, kind, queue, priority, maxAttempts, createdAt, runAt, startedAt, payload, options) = try row.decode(
            Int64.self, String.self, String.self, Int16.self, Int16.self, Timestamp.self, Timestamp.self,
            Timestamp.self, JSONB.self, JSONB?.self)
        return ClaimedJob(
            id: id, line: line, kind: JobKind(rawValue: kind), queue: queue, priority: Int(priority), attempt: attempt,
            maxAttempts: Int(maxAttempts), createdAt: createdAt, runAt: runAt, startedAt: startedAt, payload: payload,
            options: try options?.decode(JobOptions.self), workerID: worker)
    }

    private func completion(of job: ClaimedJob, interruption: Interruption?) async -> Completion {
        let attempt = Attempt(
            job, entry: remembering,
            context: JobContext(job: job, environment: shared.environment, control: AttemptControl()), claimedAt: .now)
        if let interruption { attempt.control.interrupt(interruption) }
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let ended = Signal()
        // A task of its own, as in a worker: it may be stopped while the test goes on, and one that doesn't heed that must
        // not hold the test up.
        attempt.control.attach(
            Task {
                for await _ in gate { break }
                let completion = await attempt.run()
                state.withLock { $0.completion = completion }
                ended.raise()
            })
        open.yield()
        await withTaskCancellationHandler {
            let limit = interruption == nil ? entry.policy.deadline : Self.patience
            if await !ended.wait(atMost: limit), interruption == nil {
                attempt.control.interrupt(.deadline)
                await ended.wait(atMost: Self.patience)
            }
        } onCancel: {
            attempt.control.interrupt(.shutdown)
        }
        return state.withLock(\.completion)
            ?? Completion(
                job: job, result: attempt.abandoned(because: attempt.control.interruption ?? .deadline),
                took: .now - attempt.claimedAt)
    }

    /// The handler, with its answer kept.
    private var remembering: Handlers.Entry {
        Handlers.Entry(policy: entry.policy) { [self] job, context in
            do {
                let outcome = try await entry.run(job, context)
                state.withLock { $0.answer = .success(outcome) }
                return outcome
            } catch {
                state.withLock { $0.answer = .failure(error) }
                throw error
            }
        }
    }

    /// Answers whether the end was refused.
    private func write(_ completion: Completion, note: ProgressBuffer.Report?) async throws -> Bool {
        let ends = Completion.statements(for: [completion])
        let release = [Completion.release(after: [completion])].compactMap(\.self)
        let notes = try note.map { [try ProgressBuffer.statement(for: [$0])] } ?? []
        let statements = ends + release + notes
        guard !statements.isEmpty else { return false }
        let answers = try await database.pipeline(statements)
        let answer = try CompletionReply(answers.prefix(ends.count))
        return !answer.refused.isEmpty || !answer.locked.isEmpty
    }
}

/// A job that is to be run by hand has ended, or is running.
struct NotWaiting: Error, CustomStringConvertible {
    let job: Int64
    var description: String { "job \(job): expected one that waits, got one that is running or has ended" }
}
