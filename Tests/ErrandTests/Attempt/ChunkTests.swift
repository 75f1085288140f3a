import ErrandTestKit
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

private struct Mail: Job {
    static let kind: JobKind = "chunk_mail"
    static let policy = JobPolicy(deadline: .seconds(3), retry: .delays(.seconds(60)))
    var number = 0
    var tenant = "a"
}

private struct MailHandler: ChunkHandler {
    var chunk = Chunk<Mail>(100, within: .milliseconds(200))
    let body: @Sendable ([ChunkJob<Mail>]) async throws -> [Outcome]

    func run(_ jobs: [ChunkJob<Mail>]) async throws -> [Outcome] { try await body(jobs) }
}

private struct Plain: Job {
    static let kind: JobKind = "chunk_plain"
}

private struct PlainHandler: JobHandler {
    func run(_ job: Plain, in context: JobContext) async throws -> Outcome { .done }
}

private struct Counted: Middleware {
    let runs: Runs

    func run(_ context: JobContext, _ next: @Sendable () async throws -> Outcome) async throws -> Outcome {
        runs.count("middleware")
        return try await next()
    }
}

/// The chunks that a handler has got.
private final class Seen: Sendable {
    private let chunks = Mutex<[[Mail]]>([])

    func add(_ jobs: [ChunkJob<Mail>]) { chunks.withLock { $0.append(jobs.map(\.job)) } }

    var all: [[Mail]] { chunks.withLock(\.self) }
}

@Suite("Chunks of jobs") struct ChunkTests {
    /// Until a chunk has begun, its jobs wait so long: longer than a test.
    private static let never: Duration = .seconds(60)

    @Test("a backlog runs in full chunks, on fewer slots than jobs, and each job has the outcome of its own")
    func outcomes() async throws {
        let seen = Seen()
        let handler = MailHandler(chunk: Chunk(50, within: .milliseconds(500))) { jobs in
            seen.add(jobs)
            return try jobs.map { one in
                switch one.job.number {
                case 1: .retry(after: nil, reason: "again")
                case 2: .fail(reason: "never")
                case 3: .snooze(for: .seconds(60))
                case 4: .cancel(reason: "no")
                default: try .done(one.job.number)
                }
            }
        }
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            try await queue.enqueue(all: (1...200).map { Mail(number: $0) })
            var configuration = WorkerConfiguration.withoutMaintenance
            configuration.queues = ["default": 2]
            let worker = Worker(
                database: database, configuration: configuration, logger: Logger(label: "worker"),
                handlers: Handlers([handler]))
            try await worker.runs {
                let hasEnded = try await database.becomes(
                    """
                    (select count(*) from errand.history) = 197 and exists (select from errand.failed)
                        and (select count(*) from errand.job where state = 'scheduled') = 2
                    """)
                #expect(hasEnded)
            }
            #expect(seen.all.allSatisfy { $0.count <= 50 })
            #expect(seen.all.filter { $0.count == 50 }.count >= 2, "\(seen.all.map(\.count))")
            let numbers = try await database.query(
                "select sum((output::text)::int), count(*) from errand.history where state = 'succeeded'")
            let (sum, count) = try numbers[0].decode(Int.self, Int.self)
            #expect(sum == (5...200).reduce(0, +) && count == 196)
        }
    }

    @Test("jobs gather by their key, and others run meanwhile on the same slots")
    func keys() async throws {
        let seen = Seen()
        let handler = MailHandler(chunk: Chunk(2, within: Self.never, by: { $0.tenant })) { jobs in
            seen.add(jobs)
            return jobs.map { _ in .done }
        }
        try await withWorker([handler, PlainHandler()], configure: { $0.queues = ["default": 2] }) { database, queue in
            try await queue.enqueue(all: [Mail(number: 1), Mail(number: 2, tenant: "b")])
            #expect(try await database.becomes("(select count(*) from errand.job where state = 'running') = 2"))
            try await queue.enqueue(all: [Plain(), Plain(), Plain()])
            #expect(
                try await database.becomes("(select count(*) from errand.history where kind = 'chunk_plain') = 3"))
            #expect(seen.all.isEmpty)
            try await queue.enqueue(all: [Mail(number: 3), Mail(number: 4, tenant: "b")])
            #expect(try await database.drains())
            #expect(seen.all.map { $0.map(\.number).sorted() }.sorted { $0[0] < $1[0] } == [[1, 3], [2, 4]])
        }
    }

    @Test("a worker that stops hands back a chunk that gathers, and no attempt is counted")
    func stop() async throws {
        let handler = MailHandler(chunk: Chunk(100, within: Self.never)) { $0.map { _ in .done } }
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            try await queue.enqueue(all: [Mail(), Mail()])
            let worker = Worker(
                database: database, configuration: .withoutMaintenance, logger: Logger(label: "worker"),
                handlers: Handlers([handler]))
            let running = Task { try await worker.run() }
            #expect(try await database.becomes("(select count(*) from errand.job where state = 'running') = 2"))
            worker.stop()
            try await running.value
            #expect(try await database.count("from errand.job where state = 'available' and attempt = 0") == 2)
        }
    }

    @Test("a job that is cancelled leaves its chunk, which goes on; at the deadline all of it fails")
    func interruptions() async throws {
        let runs = Runs()
        let handler = MailHandler(chunk: Chunk(3, within: Self.never)) { jobs in
            if runs.count("chunk") > 1 {
                // The deadline.
                try await Task.sleep(for: .seconds(60))
            }
            while jobs.allSatisfy({ $0.context.interruption == nil }) { try await Task.sleep(for: .milliseconds(5)) }
            return jobs.map { _ in .done }
        }
        try await withWorker([handler]) { database, queue in
            let ids = try await queue.enqueue(all: [Mail(), Mail(), Mail()])
            #expect(try await runs.reach(1, of: "chunk"))
            try await database.execute(Statement("select errand.cancel($1, 'by the test')", [[ids[1]]]))
            #expect(try await database.drains())
            #expect(
                try await database.text("select id, state from errand.history order by id")
                    == "\(ids[0])|succeeded\n\(ids[1])|cancelled\n\(ids[2])|succeeded")
            try await queue.enqueue(all: [Mail(), Mail(), Mail()], .maxAttempts(1))
            #expect(try await database.becomes("(select count(*) from errand.failed) = 3"))
            #expect(try await database.text("select distinct error from errand.failed").contains("deadline of"))
        }
    }

    @Test(
        "a broken payload fails alone; a thrown error and a wrong number of outcomes count for all; middleware runs for each"
    )
    func errors() async throws {
        let runs = Runs()
        let handler = MailHandler(chunk: Chunk(3, within: .milliseconds(300))) { jobs in
            switch jobs[0].job.tenant {
            case "throws": throw UnfitStepName(name: "x")
            case "few": return []
            default: return try jobs.map { try .done($0.job.number) }
            }
        }
        try await withTestQueue([handler], middleware: [Counted(runs: runs)]) { test in
            try await test.queue.enqueue(all: [Mail(number: 1), Mail(number: 2)])
            try await test.database.execute("select errand.enqueue('chunk_mail', '{\"number\": \"x\"}')")
            #expect(
                try await test.drain().outcomes.sorted { $0.rawValue < $1.rawValue } == [
                    .failed, .succeeded, .succeeded,
                ])
            #expect(runs["middleware"] == 3)
            for tenant in ["throws", "few"] {
                try await test.queue.enqueue(all: [Mail(tenant: tenant), Mail(tenant: tenant)])
                #expect(try await test.drain().outcomes == [.failed, .failed])
            }
            #expect(
                try await test.database.count(
                    "from errand.failed where error like 'chunk: expected an outcome for each%'")
                    == 2)
            let single = try await test.run(handler, Mail(number: 7))
            let expected = try Outcome.done(7)
            #expect(single.outcome == expected)
        }
    }
}
