import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Batches, side by side") struct BatchRaceTests {
    private struct Undo: Error {}

    @Test(
        "a job whose enqueue commits after the close is waited for, under each isolation",
        arguments: ["read committed", "repeatable read"])
    func lateCommit(isolation: String) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let batch = try await database.openBatch()
            let close = try await database.transaction { transaction in
                try await transaction.execute(Statement("set transaction isolation level \(isolation)"))
                _ = try await transaction.query(Statement("select errand.enqueue('noop', batch => \(batch))"))
                let close = Task { try await database.closeBatch(batch) }
                if isolation == "read committed" {
                    try await close.value
                } else {
                    // In an older snapshot the row stays locked, so the close waits.
                    let waiting =
                        "from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
                    #expect(try await database.becomes("count(*) = 1 \(waiting)"))
                }
                for _ in 1...3 { try await database.checkBatches() }
                #expect(try await database.callbacks(of: batch) == "")
                return close
            }
            try await close.value
            try await database.checkBatches()
            #expect(try await database.batch(batch) == "closed - 1 1 0 0 0")
            try await worker.end(worker.claim(1))
            try await database.checkBatches()
            #expect(try await database.callbacks(of: batch) == "on_finish on_success")
        }
    }

    @Test("a session that saw the batch open in an old snapshot can't add a job once it is closed")
    func oldSnapshot() async throws {
        try await withTestDatabase { database, _ in
            let batch = try await database.openBatch()
            let error = await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("set transaction isolation level repeatable read")
                    _ = try await transaction.query("select 1 from errand.job")
                    try await database.closeBatch(batch)
                    try await database.checkBatches()
                    _ = try await transaction.query(Statement("select errand.enqueue('noop', batch => \(batch))"))
                }
            }
            #expect(error?.sqlState == "40001")
            #expect(try await database.callbacks(of: batch) == "on_finish on_success")
            #expect(try await database.count("from errand.job where kind = 'noop'") == 0)
        }
    }

    @Test(
        "what is being added to a closed batch, and what is being retried, holds up its end", arguments: [true, false])
    func uncommitted(isRetry: Bool) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let batch = try await database.openBatch()
            let first = try await database.member(of: batch)
            try await worker.end(worker.claim(1), as: { isRetry ? .failed($0, error: "x") : .succeeded($0) })
            try await database.member(of: batch)
            try await database.closeBatch(batch)
            try await database.checkBatches()
            let last = try await worker.claim(1)
            try await database.transaction { transaction in
                _ = try await transaction.query(
                    Statement(
                        isRetry
                            ? "select errand.retry('{\(first)}')" : "select errand.enqueue('noop', batch => \(batch))"))
                try await worker.end(last)
                for _ in 1...3 { try await database.checkBatches() }
                #expect(try await database.batch(batch).hasPrefix("closed"))
            }
            try await database.checkBatches()
            #expect(try await database.batch(batch).hasPrefix("closed"))
            try await worker.end(worker.claim(1))
            try await database.checkBatches()
            #expect(
                try await database.callbacks(of: batch)
                    == (isRetry ? "on_failure on_finish on_success" : "on_finish on_success"))
        }
    }

    @Test("checks side by side, and one that is killed before its commit, enqueue each callback once")
    func checks() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            var batches: [Int64] = []
            for _ in 1...20 {
                let batch = try await database.openBatch()
                for _ in 1...3 { try await database.member(of: batch) }
                try await database.closeBatch(batch)
                batches.append(batch)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...3 {
                    group.addTask {
                        while try await database.count("from errand.batch where ended_at is null") > 0 {
                            try await database.checkBatches()
                            do {
                                try await database.transaction { transaction in
                                    _ = try await transaction.query("select errand_internal.check_batches()")
                                    throw Undo()
                                }
                            } catch is Undo {}
                        }
                    }
                }
                for _ in 1...60 { try await worker.end(worker.claim(1)) }
                try await group.waitForAll()
            }
            for batch in batches { #expect(try await database.callbacks(of: batch) == "on_finish on_success") }
        }
    }

    /// A job that adds two jobs to its batch, until the depth is reached.
    private struct Grow: JobHandler {
        struct Work: Job {
            static let kind: JobKind = "grow"
            let depth: Int
        }
        let queue: Queue

        func run(_ job: Work, in context: JobContext) async throws -> Outcome {
            guard job.depth > 0, let batch = context.batch else { return .done }
            try await queue.enqueue(Work(depth: job.depth - 1), .batch(batch))
            try await queue.enqueue(all: [Work(depth: job.depth - 1)], .batch(batch))
            return .done
        }
    }

    private struct Count: JobHandler {
        struct Work: Job {
            static let kind: JobKind = "count"
            let number: Int
        }
        let queue: Queue
        let seen: Shared<[Int: [BatchStatus]]>
        let ids: Shared<[Int: Int64]>

        func run(_ job: Work, in context: JobContext) async throws -> Outcome {
            let id = try #require(ids.with { $0[job.number] })
            let status = try await queue.batchStatus(id)
            seen.with { $0[job.number, default: []].append(status) }
            return .done
        }
    }

    @Test("jobs that add jobs: the callback comes once, after all of them, with two workers")
    func grows() async throws {
        let (batches, depth) = Hardness.isFull ? (40, 8) : (6, 4)
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let (seen, ids) = (Shared<[Int: [BatchStatus]]>([:]), Shared<[Int: Int64]>([:]))
            let workers = (1...2).map { _ in
                Worker(
                    database: database, configuration: WorkerConfiguration(), logger: Logger(label: "worker"),
                    handlers: Handlers([Grow(queue: queue), Count(queue: queue, seen: seen, ids: ids)]))
            }
            let running = workers.map { worker in Task { try await worker.run() } }
            for number in 0..<batches {
                let batch = try await queue.openBatch("b", onSuccess: BatchCallback(Count.Work(number: number)))
                ids.with { $0[number] = batch }
                try await queue.enqueue(Grow.Work(depth: depth), .batch(batch))
                #expect(try await queue.closeBatch(batch))
            }
            #expect(
                try await database.becomes(
                    "count(*) filter (where outcome = 'succeeded') = \(batches) from errand.batch"))
            #expect(try await database.drains())
            for worker in running { worker.cancel() }
            for worker in running { try await worker.value }
            #expect(seen.with(\.count) == batches)
            for statuses in seen.with({ $0 }).values {
                #expect(statuses.map(\.total) == [Int64(1 << (depth + 1)) - 1])
                #expect(statuses.map(\.progress) == [1])
            }
        }
    }
}
