import ErrandTestKit
import Foundation
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

/// A job whose effect the test sets.
struct Probe: Job {
    static let kind: JobKind = "probe"
    static let policy = JobPolicy(
        deadline: .milliseconds(300), retry: .exponential(attempts: 3, first: .milliseconds(1)))
    var step = 0
}

struct ProbeHandler: JobHandler {
    let body: @Sendable (Probe, JobContext) async throws -> Outcome

    func run(_ job: Probe, in context: JobContext) async throws -> Outcome { try await body(job, context) }
}

@Suite("Worker") struct WorkerTests {
    @Test("every job that was enqueued runs once and ends in the history")
    func runsAll() async throws {
        let runs = Mutex<[Int: Int]>([:])
        let handler = ProbeHandler { job, _ in
            runs.withLock { $0[job.step, default: 0] += 1 }
            return .done
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(all: (0..<1000).map(Probe.init))
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 1000)
        }
        #expect(runs.withLock { $0.count } == 1000)
        #expect(runs.withLock { $0.values.allSatisfy { $0 == 1 } })
    }

    @Test("an idle worker keeps nothing of the jobs that it has run")
    func letsGo() async throws {
        struct Seen: Sendable { weak var job: ClaimedJob? }
        let seen = Mutex<[Seen]>([])
        let handler = ProbeHandler { _, context in
            seen.withLock { $0.append(Seen(job: context.job)) }
            return .done
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(all: (0..<1000).map(Probe.init))
            #expect(try await database.drains())
            // The last outcomes are released a moment after they are written.
            for _ in 0..<200 where seen.withLock({ $0.contains { $0.job != nil } }) {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(seen.withLock { $0.count { $0.job != nil } } == 0)
        }
        #expect(seen.withLock { $0.count } == 1000)
    }

    // `make bench SCENARIO=latency-idle` measures how soon.
    @Test("a job starts on an idle worker that has gone to sleep: by its wake-up alone, and by polling alone")
    func starts() async throws {
        // Behind a pooler no wake-up arrives.
        let never: Duration = TestServer.isPooled ? .milliseconds(100) : .seconds(3600)
        for (listens, interval) in [(true, never), (false, .milliseconds(100))] {
            try await withWorker(configure: {
                $0.listens = listens; $0.pollInterval = interval
            }) { database, queue in
                #expect(try await database.becomes("exists (select from errand.worker)"))
                for _ in 0..<3 {
                    try await Task.sleep(for: .milliseconds(200))
                    try await queue.enqueue(Noop())
                    #expect(try await database.drains(), "listens: \(listens)")
                }
            }
        }
    }

    @Test("a failing job is retried until its attempts are spent, and every error is on record")
    func retries() async throws {
        let handler = ProbeHandler { _, context in throw Broken(text: "attempt \(context.attempt) broke") }
        try await withWorker([handler]) { database, queue in
            let id = try await queue.enqueue(Probe(), .maxAttempts(2)).id
            #expect(try await database.becomes("exists (select from errand.failed)", after: database.promote))
            let row = try await database.query(
                Statement("select error, attempt, attempts from errand.failed where id = $1", [id])
            ).first
            let (error, attempt, attempts) = try #require(try row?.decode(String.self, Int16.self, JSONB.self))
            #expect(error == "attempt 2 broke")
            #expect(attempt == 2)
            let record = try attempts.decode([Attempted].self)
            #expect(record.map(\.error) == ["attempt 1 broke", "attempt 2 broke"])
            #expect(record.map(\.outcome) == ["retried", "failed"])
        }
    }

    @Test("the text of a LocalizedError is on record, unless the error has a description of its own")
    func localizedErrors() async throws {
        struct Plain: LocalizedError { var errorDescription: String? { "the mailbox is full" } }
        struct Silent: LocalizedError {}
        struct Described: LocalizedError, CustomStringConvertible {
            var errorDescription: String? { "for people" }
            var description: String { "for logs" }
        }
        let errors: [any Error] = [Plain(), Silent(), Described()]
        let handler = ProbeHandler { job, _ in throw errors[job.step] }
        try await withWorker([handler]) { database, queue in
            for step in errors.indices { try await queue.enqueue(Probe(step: step), .maxAttempts(1)) }
            #expect(try await database.becomes("(select count(*) from errand.failed) = 3"))
            let texts = try await database.query("select error from errand.failed order by id")
                .column(0, as: String.self)
            #expect(texts == ["the mailbox is full", "Silent()", "for logs"])
        }
    }

    @Test("a worker is listed by the host and process that it runs in")
    func name() async throws {
        try await withWorker { database, _ in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            let process = ProcessInfo.processInfo
            let name = try await database.query("select name from errand.worker").scalar(String.self)
            #expect(name == "\(process.hostName):\(process.processIdentifier)")
        }
    }

    @Test("a payload that does not match its kind fails immediately, with the field's name")
    func unfitPayload() async throws {
        try await withWorker { database, _ in
            try await database.execute(#"select errand.enqueue('noop', '{"sleep_ms": "long"}')"#)
            #expect(try await database.becomes("exists (select from errand.failed)"))
            let error = try await database.query("select error from errand.failed").scalar(String.self)
            #expect(error == "payload does not fit noop: sleep_ms: expected Int, got another type")
        }
    }

    @Test("jobs of a kind that this worker doesn't know stay in the queue")
    func unknownKind() async throws {
        try await withWorker { database, queue in
            try await database.execute("select errand.enqueue('somebody_elses')")
            try await queue.enqueue(Noop())
            #expect(try await database.becomes("count(*) = 1 from errand.history"))
            #expect(try await database.count("from errand.job where state = 'available' and attempt = 0") == 1)
        }
    }

    @Test("an output is stored, a permanent failure is not retried, and a cancelled job has the reason")
    func outcomes() async throws {
        let handler = ProbeHandler { job, _ in
            switch job.step {
            case 0: try .done(["answer": 42])
            case 1: .fail(reason: "of no use")
            default: .cancel(reason: "not wanted")
            }
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(all: (0...2).map(Probe.init))
            #expect(try await database.drains())
            let outcomes = try await database.query(
                "select state, coalesce(output ->> 'answer', reason) from errand.jobs order by id")
            #expect(
                try outcomes.map { try $0.decode(String.self, String.self).1 } == ["42", "of no use", "not wanted"])
            #expect(
                try outcomes.map { try $0.decode(String.self, String.self).0 } == ["succeeded", "failed", "cancelled"])
        }
    }

    @Test("a snoozed job comes back without having spent the attempt")
    func snoozes() async throws {
        let seen = Mutex<[Int]>([])
        let handler = ProbeHandler { _, context in
            seen.withLock { $0.append(context.attempt) }
            return seen.withLock { $0.count } < 3 ? .snooze(for: .zero) : .done
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(Probe(), .maxAttempts(1))
            #expect(try await database.drains())
        }
        #expect(seen.withLock { $0 } == [1, 1, 1])
    }

    @Test("an attempt beyond its deadline is cancelled, with that error")
    func deadline() async throws {
        let reasons = Mutex<[Interruption?]>([])
        let handler = ProbeHandler { _, context in
            do {
                try await Task.sleep(for: .seconds(30))
            } catch {
                reasons.withLock { $0.append(context.interruption) }
                throw error
            }
            return .done
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(Probe(), .maxAttempts(1))
            #expect(try await database.becomes("exists (select from errand.failed)", within: .seconds(60)))
            let error = try await database.query("select error from errand.failed").scalar(String.self)
            #expect(error == "deadline of 0.3 seconds exceeded")
        }
        #expect(reasons.withLock { $0 } == [.deadline])
    }

    @Test("cancelling a running job reaches its handler in less than a second", arguments: [true, false])
    func cancels(listens: Bool) async throws {
        let (started, start) = AsyncStream.makeStream(of: Int64.self)
        let (interrupted, interrupt) = AsyncStream.makeStream(of: Interruption?.self)
        let handler = SlowHandler { context in
            start.yield(context.id)
            try? await Task.sleep(for: .seconds(30))
            interrupt.yield(context.interruption)
        }
        try await withWorker([handler], configure: { $0.listens = listens }) { database, queue in
            try await queue.enqueue(Slow())
            let id = try #require(await started.first { _ in true })
            let clock = ContinuousClock()
            let took = try await clock.measure {
                try await database.execute(Statement("select errand.cancel($1, 'a mistake')", [[id]]))
                #expect(await interrupted.first { _ in true } == .cancelled)
            }
            // The promise is 1 s on a machine without other load. Without the notification it would be 30 s.
            #expect(took < .seconds(10))
            #expect(
                try await database.count("from errand.history where state = 'cancelled' and reason = 'a mistake'") == 1)
        }
    }

    @Test(
        "an idle worker's marks follow those of a live one that knows all its kinds, and of no other",
        arguments: [("kinds", "now()", 7), ("'{}'", "now()", 0), ("kinds", "now() - interval '1 hour'", 0)])
    func followsMarks(kinds: String, heard: String, position: Int) async throws {
        try await withWorker(configure: { $0.heartbeatInterval = .milliseconds(50) }) { database, _ in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            try await database.execute(
                Statement(
                    """
                    insert into errand.worker (name, version, lease, queues, kinds, heartbeat_at, server_start, marks)
                    select
                        'other', version, lease, queues, \(kinds), \(heard), server_start, '{"default": [5, 7, 9, 11]}'
                    from errand.worker
                    """))
            // One heartbeat detects the loss, and the next one reports it.
            for _ in 0..<2 {
                let before = try await database.word("clock_timestamp()") ?? ""
                #expect(
                    try await database.becomes("heartbeat_at > '\(before)' from errand.worker where name <> 'other'"))
            }
            #expect(
                try await database.count(
                    "from errand.worker where name <> 'other' and marks -> 'default' ->> 1 = '\(position)'") == 1)
        }
    }

    @Test("a stop lets running jobs finish, and releases the rest after the grace without using an attempt")
    func drains() async throws {
        try await withTestDatabase { database, _ in
            var configuration = WorkerConfiguration.withoutMaintenance
            configuration.grace = .milliseconds(300)
            let (started, start) = AsyncStream.makeStream(of: Int64.self)
            let handler = SlowHandler { context in
                start.yield(context.id)
                try? await Task.sleep(
                    for: context.attempt == 1 && context.id % 2 == 0 ? .seconds(30) : .milliseconds(100))
                if context.interruption != nil { throw CancellationError() }
            }
            let worker = Worker(
                database: database, configuration: configuration, logger: Logger(label: "worker"),
                handlers: Handlers([handler]))
            let running = Task { try await worker.run() }
            try await Queue(database: database).enqueue(all: [Slow(), Slow()])
            var iterator = started.makeAsyncIterator()
            _ = await (iterator.next(), iterator.next())
            worker.stop()
            try await running.value
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 1)
            #expect(try await database.count("from errand.job where state = 'available' and attempt = 0") == 1)
            #expect(try await database.count("from errand.worker") == 0)
        }
    }

    struct Broken: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }

    struct Attempted: Decodable {
        let error: String
        let outcome: String
    }
}

/// A job without a near deadline.
struct Slow: Job {
    static let kind: JobKind = "slow"
}

struct SlowHandler: JobHandler {
    let body: @Sendable (JobContext) async throws -> Void

    func run(_ job: Slow, in context: JobContext) async throws -> Outcome {
        try await body(context)
        return .done
    }
}
