import Errand
import Logging
import Postgres

/// A queue for one test: enqueue jobs, inspect them, advance time, and run them.
///
/// ```swift
/// try await withTestQueue([SendReceiptHandler(mail: mail)]) { test in
///     try await test.queue.enqueue(SendReceipt(order: 17), .after(.seconds(60)))
///     try await test.expectEnqueued(SendReceipt(order: 17), .after(.seconds(60)))
///     try await test.advance(by: .seconds(60))
///     #expect(try await test.drain().outcomes == [.succeeded])
/// }
/// ```
/// Only the test runs jobs: there is no worker besides ``drain(within:limit:)``, and no scheduler.
public struct TestQueue: Sendable {
    /// For enqueues, alone or in a transaction of yours.
    public let queue: Queue
    public let database: Database
    /// How to reach the database, for other clients.
    public let configuration: PostgresConfiguration
    package let handlers: Handlers
    let middleware: [any Middleware]
    let worker: WorkerConfiguration
    let logger: Logger
}

/// Runs `body` with a queue of its own on a database of its own, and drops it afterwards.
///
/// The kinds of `handlers` are registered, as after the first start of their worker, so that jobs enqueued in SQL get
/// their queue, priority, attempts and limit.
///
/// - Parameters:
///   - handlers: what ``TestQueue/drain(within:limit:)`` runs. The kind `noop` is always there.
///   - worker: the worker's settings. Its queues are ignored: it claims from all.
///   - middleware: that of the queue and of the handlers.
///   - schema: scripts of your own; see ``withTestDatabase(connections:schema:logger:_:)``.
///   - logger: the logger of the worker and the handlers. Default: one for warnings and errors.
///   - body: the test.
/// - Throws: what `body` throws; ``TestServerMissing`` if `ERRAND_TEST_DATABASE_URL` isn't set.
public func withTestQueue<T: Sendable>(
    _ handlers: [any JobHandler] = [], middleware: [any Middleware] = [],
    worker: WorkerConfiguration = WorkerConfiguration(), schema: [String] = [], logger: Logger? = nil,
    _ body: (TestQueue) async throws -> T
) async throws -> T {
    try await withTestQueue(
        handlers, middleware: middleware, worker: worker, schema: TestSchema(scripts: schema), logger: logger, body)
}

package func withTestQueue<T: Sendable>(
    _ handlers: [any JobHandler] = [], middleware: [any Middleware] = [],
    worker: WorkerConfiguration = WorkerConfiguration(), schema: TestSchema, logger: Logger? = nil,
    _ body: (TestQueue) async throws -> T
) async throws -> T {
    let logger = logger ?? .test
    return try await withTestDatabase(schema: schema, logger: logger) { database, configuration in
        let handlers = Handlers(handlers, middleware: middleware)
        try await database.execute(Statement("select errand_internal.register_kinds($1)", [try handlers.known]))
        return try await body(
            TestQueue(
                queue: Queue(database: database, middleware: middleware), database: database,
                configuration: configuration, handlers: handlers, middleware: middleware, worker: worker, logger: logger
            ))
    }
}

// MARK: - Jobs
extension TestQueue {
    /// Every job, waiting or ended, in the order of their enqueue.
    public func jobs() async throws -> [RecordedJob] {
        try await RecordedJob.read(from: database).map(\.job)
    }

    /// Every job of one kind, in the order of their enqueue.
    public func jobs<J: Job>(of kind: J.Type) async throws -> [RecordedJob] {
        try await RecordedJob.read(from: database, kind: J.kind).map(\.job)
    }

    /// One job. Throws an ``UnmetExpectation`` if there is none with this id.
    public func job(_ id: Int64) async throws -> RecordedJob {
        guard let found = try await RecordedJob.read(from: database, id: id).first else {
            throw UnmetExpectation("job \(id)", there: try await jobs())
        }
        return found.job
    }
}

// MARK: - Time
extension TestQueue {
    /// Advances time: jobs that would be due by then are available now.
    ///
    /// The database's clock can't be moved. Instead the queue's stored times are moved back by `time`: when waiting
    /// jobs were enqueued, become due and become obsolete; retries; waits for signals; starts that rates of keys have
    /// reserved; pauses of queues; open circuits. Not moved are times in payloads and in your tables, ended jobs,
    /// schedules and their ticks, and rates of queues.
    public func advance(by time: Duration) async throws {
        let statements = [
            """
            update errand.job
            set created_at = created_at - $1, run_at = run_at - $1, not_after = not_after - $1,
                started_at = started_at - $1
            """,
            "update errand.signal_wait set until = until - $1",
            "update errand.rate_reservation set start_at = start_at - $1",
            "update errand.rate_clock set tat = tat - extract(epoch from $1)",
            "update errand.queue set paused_at = paused_at - $1, paused_until = paused_until - $1",
            """
            update errand.circuit
            set opened_at = opened_at - $1, until = until - $1, failing_since = failing_since - $1,
                failed_at = failed_at - $1, closed_at = closed_at - $1, released_at = released_at - $1
            """,
        ].map { text in
            // A parameter of type interval would need a codec of its own.
            let past = text.replacing("$1", with: "$1 * interval '1 microsecond'")
            return Statement(past, [time.wholeMicroseconds])
        }
        _ = try await database.pipeline(statements)
        try await promote()
    }

    /// Makes due jobs available, like maintenance.
    func promote() async throws {
        try await database.execute("select errand_internal.promote(1000000, '-infinity')")
        try await database.execute("select errand_internal.release_parked(), errand_internal.release_waiting()")
        try await database.execute("select errand_internal.check_children(), errand_internal.check_rates()")
        try await database.execute("select errand_internal.check_batches()")
    }
}
