import ErrandTestKit
import Foundation
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("Outcomes, and memory and transactions of a job") struct OutcomeTests {
    @Test("a job that snoozes until a moment comes back then, without having spent the attempt")
    func snoozesUntil() async throws {
        let until = Mutex<Timestamp?>(nil)
        let handler = ProbeHandler { _, context in
            guard until.withLock({ $0 == nil }) else { return .done }
            let now = try await context.database.query("select now()").scalar(Timestamp.self)
            until.withLock { $0 = now + .milliseconds(300) }
            return .snooze(until: now + .milliseconds(300))
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(Probe(), .maxAttempts(1))
            #expect(try await database.becomes("exists (select from errand.history)", after: database.promote))
            let moment = try #require(until.withLock { $0 })
            let row = try await database.query("select attempt, started_at from errand.history")
            let (attempt, started) = try row[0].decode(Int.self, Timestamp.self)
            #expect(attempt == 1 && started >= moment)
        }
    }

    @Test("a job that its handler or a nested error parks waits without using an attempt, and continues later")
    func parks() async throws {
        let isDown = Mutex(true)
        let handler = ProbeHandler { job, _ in
            guard isDown.withLock({ $0 }) else { return .done }
            if job.step == 1 { throw Unavailable("storage", reason: "refused") }
            return .unavailable("storage")
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(all: (0..<5).map(Probe.init), .maxAttempts(1))
            #expect(
                try await database.becomes("count(*) = 5 from errand.job where state = 'parked' and attempt = 0"))
            isDown.withLock { $0 = false }
            try await database.execute("select errand.circuit_close('storage')")
            #expect(
                try await database.becomes("not exists (select from errand.job)", after: database.promote))
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 5)
        }
    }

    @Test("a retry that is asked for after the last attempt is a failure")
    func lastAttempt() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await Queue(database: database).enqueue(Noop(), .maxAttempts(2))
            for _ in 1...2 {
                try await worker.end(worker.claim(1), as: { .retried($0, error: "not yet", after: .zero) })
            }
            #expect(try await database.count("from errand.job") == 0)
            #expect(
                try await database.text(
                    "select attempt, error, attempts -> 0 ->> 'outcome', attempts -> 1 ->> 'outcome' from errand.failed"
                )
                    == "2|not yet|retried|failed")
        }
    }

    @Test("a job that is to run again in more than 10 years fails with that reason, and opens no circuit")
    func tooFar() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '11 years'").scalar(Timestamp.self)
            let ends: [(ClaimedJob) -> Completion] = [
                { .snoozed($0, until: .infinity) }, { .snoozed($0, for: .seconds(Int64.max)) },
                { .retried($0, error: "not yet", after: .seconds(11 * 366 * 86_400)) },
                { .parked($0, circuit: "storage", until: later, reason: "it moves") },
            ]
            for end in ends {
                try await Queue(database: database).enqueue(Noop())
                try await worker.end(worker.claim(1), as: end)
            }
            let errors = try await database.text("select error from errand.failed order by id").split(separator: "\n")
            let words = errors.map { $0.prefix { $0 != ":" && $0 != ";" } }
            #expect(words == ["snoozed", "snoozed", "not yet", "it moves"])
            #expect(errors.allSatisfy { $0.contains(": expected at most 10 years from now, got ") })
            #expect(errors[0].hasSuffix("got infinity") && errors[3].contains("; parked: expected"))
            #expect(try await database.count("from errand.circuit where opened_at is not null") == 0)
        }
    }

    @Test("a circuit that a handler opens without an end stays open until an operator closes it")
    func withoutEnd() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            for until in [Timestamp.infinity, nil, .infinity] {
                try await Queue(database: database).enqueue(Noop())
                try await worker.end(
                    worker.claim(1), as: { .parked($0, circuit: "storage", until: until, reason: "gone") })
                #expect(
                    try await database.text("select state, until from errand.circuits where name = 'storage'")
                        == "open|")
            }
            try await database.promote()
            #expect(try await database.text("select state, count(*) from errand.job group by state") == "parked|3")
            try await database.execute("select errand.circuit_close('storage')")
            #expect(
                try await database.becomes("bool_and(state = 'available') from errand.job") {
                    try await database.promote()
                })
        }
    }

    @Test("progress, output and the last lines of a job's log are there to read while it runs, and afterwards")
    func notes() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let handler = SlowHandler { context in
            for line in 1...80 { context.logger.info("line \(line)", metadata: ["size": "\(line)"]) }
            context.logger.debug("not kept")
            context.progress(0.25, "reading")
            try context.output(["pages": 3])
            for await _ in gate { break }
            context.progress(1)
        }
        try await withWorker([handler]) { database, queue in
            let id = try await queue.enqueue(Slow()).id
            #expect(
                try await database.becomes(
                    """
                    exists (
                        select from errand.progress join errand.job on job.id = job_id
                        where job.state = 'running' and fraction = 0.25 and message = 'reading'
                            and output ->> 'pages' = '3')
                    """, within: .seconds(60)))
            open.yield()
            #expect(
                try await database.becomes(
                    "exists (select from errand.progress where fraction = 1 and message = 'reading')",
                    within: .seconds(60)))
            let row = try await database.query(Statement("select log from errand.progress where job_id = $1", [id]))
            let log = try row.scalar([String].self)
            #expect(log.count == 50)
            #expect(log.last?.hasSuffix("info line 80 size=80") == true)
        }
    }

    @Test("an output over 256 KB fails its job alone, for good and with its size, and its writes are rolled back")
    func largeOutput() async throws {
        let huge = JSONB(bytes: [UInt8](repeating: UInt8(ascii: "1"), count: 200 << 20))
        // Each has more bytes in the database: a space after each comma, and all digits.
        let numbers = [Int](repeating: 100_000_000_000, count: 20_000)
        let digits = JSONB("[" + String(repeating: "1e131071,", count: 1_000) + "1]")
        let handler = TallyHandler { job, context in
            switch job.step {
            case 0: return try .done(String(repeating: "x", count: 262_142))
            case 1: return try .done(String(repeating: "x", count: 262_143))
            case 2: return .done(output: huge)
            case 3: try context.output(String(repeating: "x", count: 300_000))
            case 4: return try .done(numbers)
            case 5: return .done(output: digits)
            case 6: try context.output(numbers)
            default:
                return try await context.transaction { transaction in
                    try await transaction.execute("update public.total set runs = runs + 1")
                    return try job.step == 7 ? .done(output: huge) : .done(numbers)
                }
            }
            return .done
        }
        try await withWorker([handler]) { database, queue in
            try await database.execute("create table public.total as select 0 as runs")
            try await queue.enqueue(all: (0...8).map(Tally.init))
            #expect(try await database.drains())
            let expected = "output: expected at most 262144 bytes as text, got"
            #expect(
                try await database.query(
                    """
                    select format('%s|%s|%s', payload ->> 'step', attempt, error) from errand.failed
                    order by payload ->> 'step'
                    """
                ).column(0, as: String.self) == [
                    "1|1|\(expected) 262145", "2|1|\(expected) 209715200", "3|1|\(expected) 300002",
                    "4|1|\(expected) 280000", "5|1|\(expected) more", "7|1|\(expected) 209715200",
                    "8|1|\(expected) 280000",
                ])
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 2)
            #expect(try await database.count("from public.total where runs <> 0") == 0)
            #expect(
                try await database.becomes(
                    "exists (select from errand.progress where output = to_jsonb('\(expected) 280000'::text))"))
        }
    }

    @Test("a long log is kept to its last 8 KB")
    func longLog() {
        let job = ClaimedJob.sample
        var report = ProgressBuffer.Report(of: job)
        for number in 0..<40 { report.append("\(number)" + String(repeating: "x", count: 900)) }
        #expect(report.log.reduce(0) { $0 + $1.utf8.count } <= 8192)
        #expect(report.log.last?.hasPrefix("39x") == true)
    }

    @Test("a handler's writes and its job's end commit together: with sessions killed at random, each exactly once")
    func exactlyOnce() async throws {
        let handler = TallyHandler { job, context in
            try await context.transaction { transaction in
                try await transaction.execute(
                    Statement("update public.total set runs = runs + 1 where step = $1", [job.step]))
                if job.step % 7 == 0, context.attempt == 1 {
                    try await transaction.execute("select pg_terminate_backend(pg_backend_pid())")
                }
                if job.step % 5 == 0, context.attempt == 1 { throw CancellationError() }
                return .done
            }
        }
        try await withWorker([handler]) { database, queue in
            try await database.execute("create table public.total (step int primary key, runs int not null default 0)")
            try await database.execute("insert into public.total (step) select generate_series(0, 39)")
            try await queue.enqueue(all: (0..<40).map(Tally.init))
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job)", within: .seconds(60), after: database.promote))
            #expect(try await database.count("from public.total where runs <> 1") == 0)
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 40)
            #expect(try await database.count("from errand.failed") == 0)
        }
    }

    @Test("a job that was cancelled meanwhile, or that its guard no longer wants, rolls its handler's writes back")
    func rollsBack() async throws {
        let (started, start) = AsyncStream.makeStream(of: Int64.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let handler = SlowHandler { context in
            _ = try await context.transaction { transaction in
                start.yield(context.id)
                for await _ in gate { break }
                try await transaction.execute("insert into public.written values (1)")
                return .done
            }
        }
        try await withWorker([handler]) { database, queue in
            try await database.makeGuard()
            try await database.execute("create table public.written (n int)")
            try await database.execute("insert into public.open values (1)")
            var iterator = started.makeAsyncIterator()
            try await database.execute(#"select errand.enqueue('slow', '{"id": 1}', guard => 'wanted')"#)
            _ = await iterator.next()
            try await database.execute("delete from public.open")
            open.yield()
            #expect(try await database.becomes("count(*) = 1 from errand.history where state = 'obsolete'"))
            #expect(try await database.count("from public.written") == 0)
        }
    }

    @Test("an attempt that goes on after its transaction is left alone, and counted, also while its job runs again")
    func goesOn() async throws {
        let (again, begin) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let interrupted = Mutex<[Bool]>([])
        let handler = SlowHandler { context in
            let outcome: Outcome = context.attempt == 1 ? .retry(after: .zero, reason: "again") : .done
            _ = try await context.transaction { _ in outcome }
            if context.attempt == 2 {
                begin.yield()
                return
            }
            for await _ in gate { break }
            interrupted.withLock { $0.append(Task.isCancelled) }
            end.yield()
        }
        let completed = Mutex<[AttemptOutcome]>([])
        let configure: (inout WorkerConfiguration) -> Void = {
            $0.heartbeatInterval = .milliseconds(100)
            $0.onCompletions = { new in completed.withLock { $0 += new.map(\.outcome) } }
        }
        try await withWorker([handler], configure: configure) { database, queue in
            try await queue.enqueue(Slow())
            for await _ in again { break }
            #expect(try await database.becomes("exists (select from errand.history)"))
            // Two more heartbeats find that the worker doesn't hold the job.
            for _ in 1...2 {
                let seen = try await database.text("select clock_timestamp()")
                #expect(try await database.becomes("min(heartbeat_at) > '\(seen)' from errand.worker"))
            }
            open.yield()
            // The worker's stop interrupts it after 2 s.
            for await _ in ended { break }
        }
        #expect(interrupted.withLock(\.self) == [false])
        #expect(completed.withLock { $0.map(\.rawValue).sorted() } == ["retried", "succeeded"])
    }

    @Test("attempts run only within the worker's memory budget, and one that is stopped releases its memory")
    func memoryOfAttempts() async throws {
        let most = Mutex((now: 0, most: 0))
        let handler = ProbeHandler { job, context in
            try await context.withMemory(40) {
                most.withLock { state in
                    state.now += 1
                    state.most = max(state.most, state.now)
                }
                try await Task.sleep(for: .milliseconds(5))
                most.withLock { $0.now -= 1 }
                return .done
            }
        }
        try await withWorker([handler], configure: { $0.memory = 100 }) { database, queue in
            try await queue.enqueue(all: (0..<40).map(Probe.init))
            #expect(try await database.drains())
        }
        #expect(most.withLock { $0.most } == 2)
    }

    @Test("a policy's limit holds over workers, with the whole engine running")
    func kindLimit() async throws {
        struct Narrow: Job {
            static let kind: JobKind = "narrow"
            static let policy = JobPolicy(limit: 2)
        }
        struct NarrowHandler: JobHandler {
            let running: Counter
            func run(_ job: Narrow, in context: JobContext) async throws -> Outcome {
                running.enter()
                try await Task.sleep(for: .milliseconds(10))
                running.leave()
                return .done
            }
        }
        let counter = Counter()
        try await withWorker([NarrowHandler(running: counter)]) { database, queue in
            let other = Worker(
                database: database, configuration: .withoutMaintenance, logger: Logger(label: "other"),
                handlers: Handlers([NarrowHandler(running: counter)]))
            let running = Task { try await other.run() }
            #expect(try await database.becomes("count(*) = 2 from errand.worker"))
            for _ in 0..<40 { try await queue.enqueue(Narrow()) }
            #expect(try await database.becomes("not exists (select from errand.job)", after: database.promote))
            running.cancel()
            try await running.value
        }
        #expect(counter.most == 2)
    }
}

/// A job that counts, with no near deadline.
struct Tally: Job {
    static let kind: JobKind = "tally"
    static let policy = JobPolicy(retry: .exponential(attempts: 10, first: .milliseconds(1)))
    var step = 0
}

struct TallyHandler: JobHandler {
    let body: @Sendable (Tally, JobContext) async throws -> Outcome

    func run(_ job: Tally, in context: JobContext) async throws -> Outcome { try await body(job, context) }
}

/// The number inside now, and its maximum.
final class Counter: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func enter() {
        state.withLock { state in
            state.now += 1
            state.most = max(state.most, state.now)
        }
    }

    func leave() { state.withLock { $0.now -= 1 } }
}
