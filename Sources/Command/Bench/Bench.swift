import Errand
import Foundation
import Logging
import Postgres
import Synchronization

/// The built-in load test: enqueuers and workers side by side in one process, on a dedicated database.
///
/// Jobs are of kind `noop` with 100 bytes of payload, in a queue of their own. Two enqueuers stay at most 20,000 jobs
/// ahead of the workers, and below a rate if one is given. Before that, one idle worker is measured: from the call of
/// an enqueue to the start of its job.
struct Bench {
    struct Plan {
        var jobs = 100_000
        var batch = 100
        var workers = 1
        /// How many jobs are enqueued per second; nil for as many as the workers complete.
        var rate: Int?
        /// How long an old snapshot is held, after an equal time without one; nil holds none.
        var pinned: Duration?
        /// Whether to measure single jobs on an idle worker too, which takes 25 s.
        var measuresIdle = true
    }

    static let queue = "bench"
    let configuration: PostgresConfiguration
    let plan: Plan
    let logger: Logger

    func run(progress: @Sendable (String) -> Void) async throws -> Report {
        let database = Database(configuration: configuration, maximumConnections: 4, logger: logger)
        do {
            try await refuseOthers(on: database)
            try await database.execute("select errand_internal.make_partitions()")
            // This comes first, before the server has the dead rows of a load to clean up.
            var idle: (wakeUps: [Double], polls: [Double])?
            if plan.measuresIdle {
                progress("idle worker: enqueue to start, by wake-up and by poll")
                idle = (
                    try await idleLatency(listens: true, samples: 100, on: database),
                    try await idleLatency(listens: false, samples: 40, on: database)
                )
            }
            progress("\(plan.jobs) jobs, batch \(plan.batch), \(plan.workers) workers")
            var report = Report(try await throughput(on: database))
            if let idle { report.add(wakeUps: idle.wakeUps, polls: idle.polls) }
            if let pinned = plan.pinned {
                progress("\(pinned) without and \(pinned) with a held snapshot")
                (report.before, report.pinned) = try await pinning(for: pinned, on: database)
            }
            await database.close()
            return report
        } catch {
            await database.close()
            throw error
        }
    }

    /// Throws if the database has other jobs or a running worker, which would disturb the benchmark or be harmed.
    private func refuseOthers(on database: Database) async throws {
        // Counts of finished jobs are read instead of the history, which has millions of rows after some benchmarks.
        let others = try await database.query(
            Statement(
                """
                select exists (select from errand.job where queue <> $1)
                    or exists (select from errand.finished_per_minute where queue <> $1)
                    or exists (select from errand.failed where queue <> $1),
                    exists (select from errand.worker where heartbeat_at > now() - lease)
                """, [Self.queue]))
        let (hasJobs, hasWorkers) = try others[0].decode(Bool.self, Bool.self)
        if hasJobs || hasWorkers {
            throw BenchRefused(
                reason: hasJobs
                    ? "the database has other jobs" : "a worker runs on the database, or ran until just now")
        }
        try await database.execute(Statement("delete from errand.job where queue = $1", [Self.queue]))
    }
}

/// The benchmark would disturb others.
struct BenchRefused: Error, CustomStringConvertible {
    let reason: String

    var description: String {
        "bench: \(reason); expected a dedicated database (createdb, errand migrate, errand bench)"
    }
}

// MARK: - Under load
extension Bench {
    private func throughput(on database: Database) async throws -> Figures {
        try await load(on: database) { load in
            // A warm-up of plans, caches and the pool, which doesn't count.
            try await load.finishes(more: min(plan.jobs / 5, 20_000))
            return try await load.measure(on: database) { try await load.finishes(more: plan.jobs) }
        }
    }

    private func pinning(for duration: Duration, on database: Database) async throws -> (Figures, Figures) {
        try await load(on: database) { load in
            try await Task.sleep(for: .seconds(2))
            let before = try await load.measure(on: database) { try await Task.sleep(for: duration) }
            let holder = try await database.makeConnection()
            try await holder.execute("begin isolation level repeatable read")
            try await holder.execute("select 1")
            let during = try await load.measure(on: database) { try await Task.sleep(for: duration) }
            await holder.close()
            return (before, during)
        }
    }

    /// Runs enqueuers and workers for as long as `body` takes, then lets the queue drain.
    private func load<T: Sendable>(on database: Database, _ body: @Sendable (Load) async throws -> T) async throws -> T
    {
        let load = Load(ahead: 20_000, rate: plan.rate)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            let workers = (0..<plan.workers).map { _ in worker(on: database, slots: plan.batch * 2, load: load) }
            for worker in workers { group.addTask { try await worker.run() } }
            let feeding = Task {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<2 { group.addTask { try await feed(load) } }
                    try await group.waitForAll()
                }
            }
            let result = try await body(load)
            load.stop()
            try await feeding.value
            for worker in workers { worker.stop() }
            try await group.waitForAll()
            return result
        }
    }

    private func worker(on database: Database, slots: Int, load: Load, listens: Bool = true) -> Worker {
        var settings = WorkerConfiguration()
        settings.queues = [Self.queue: slots]
        settings.batch = plan.batch
        settings.listens = listens
        settings.maintenance = false
        settings.name = "bench"
        settings.onRoundTrip = { load.record($0) }
        return Worker(
            database: database, configuration: settings, logger: logger,
            handlers: Handlers([BenchHandler(load: load)]))
    }

    private func feed(_ load: Load) async throws {
        let connection = try await Connection.connect(configuration, logger: logger)
        let padding = JSONB(#"{"n":1,"p":"\#(String(repeating: "x", count: 80))"}"#)
        let enqueue = Statement(
            "select errand.enqueue_payloads_v1('noop', $1, $2)",
            [[JSONB](repeating: padding, count: plan.batch), Self.queue]
        ).prepared
        while !load.isStopped {
            guard load.isRoomAhead else {
                // Some hundred jobs of thousands: the queue is never empty meanwhile.
                try await Task.sleep(for: .milliseconds(5))
                continue
            }
            try await connection.execute(enqueue)
            load.enqueued(plan.batch)
        }
        await connection.close()
    }
}

// MARK: - Idle
extension Bench {
    /// Milliseconds from the call of an enqueue to the start of its job, on a sleeping worker.
    private func idleLatency(listens: Bool, samples: Int, on database: Database) async throws -> [Double] {
        let load = Load(ahead: 0)
        let worker = worker(on: database, slots: 10, load: load, listens: listens)
        let running = Task { try await worker.run() }
        var latencies: [Double] = []
        for sample in 0...samples {
            // Longer than a worker stays awake, and not a multiple of its poll interval.
            try await Task.sleep(for: .milliseconds(150 + 7 * (sample % 11)))
            let start = ContinuousClock.now
            let id = try await Queue(database: database).enqueue(Noop(), .queue(Self.queue)).id
            let started = await load.start(of: id)
            // The first job includes plans and connections.
            if sample > 0 { latencies.append((started - start).inMilliseconds) }
        }
        worker.stop()
        try await running.value
        return latencies
    }
}

/// Does nothing, and records when it began.
struct BenchHandler: JobHandler {
    let load: Load

    func run(_ job: Noop, in context: JobContext) async throws -> Outcome {
        load.started(context.id)
        return .done
    }
}

extension Duration {
    var inMilliseconds: Double { self / .milliseconds(1) }
}
