import ErrandTestKit
import Foundation
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

/// A job of several steps.
struct Stepping: Job {
    static let kind: JobKind = "stepping"
    static let policy = JobPolicy(retry: .exponential(attempts: 3, first: .milliseconds(1)))
    var number = 0
}

struct SteppingHandler: JobHandler {
    let body: @Sendable (Stepping, JobContext) async throws -> Outcome

    func run(_ job: Stepping, in context: JobContext) async throws -> Outcome { try await body(job, context) }
}

/// How often each step has run.
final class Runs: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    /// Counts a run, and returns its number.
    @discardableResult
    func count(_ name: String) -> Int {
        counts.withLock { counts in
            counts[name, default: 0] += 1
            return counts[name, default: 0]
        }
    }

    subscript(name: String) -> Int { counts.withLock { $0[name, default: 0] } }

    /// Waits until a step has run so often. Returns whether it has.
    func reach(_ count: Int, of name: String) async throws -> Bool {
        for _ in 1...6_000 where self[name] < count { try await Task.sleep(for: .milliseconds(10)) }
        return self[name] >= count
    }
}

@Suite("A step runs once in the life of its job, whatever becomes of its attempts") struct StepTests {
    private struct Receipt: Codable, Equatable, Sendable {
        let id: Int
        var note: String?
    }

    @Test("after a failure the next attempt gets what the first one has recorded; prune removes that after the success")
    func resumes() async throws {
        let runs = Runs()
        let handler = SteppingHandler { _, context in
            let receipt = try await context.step("charge") { Receipt(id: runs.count("charge")) }
            try await context.step("note") { _ = runs.count("note") }
            let nothing: Int? = try await context.step("nothing") { runs.count("nothing") > 0 ? nil : 1 }
            // Again in the same attempt.
            let again = try await context.step("charge") { Receipt(id: 17) }
            if context.attempt < 3 { throw CocoaError(.userCancelled) }
            try await context.step("end") { _ = runs.count("end") }
            return try .done([receipt, again, Receipt(id: nothing ?? -1)])
        }
        try await withWorker([handler]) { database, queue in
            let id = try await queue.enqueue(Stepping()).id
            #expect(try await database.becomes("exists (select from errand.history)", after: database.promote))
            let output = try await database.query("select output from errand.history").scalar(JSONB.self)
            #expect(try output.decode([Receipt].self) == [Receipt(id: 1), Receipt(id: 1), Receipt(id: -1)])
            #expect(["charge", "note", "nothing", "end"].map { runs[$0] } == [1, 1, 1, 1])
            #expect(
                try await database.text(
                    "select name, output::text from errand.step where job_id = \(id) order by recorded_at")
                    == "charge|{\"id\": 1}\nnote|\nnothing|null\nend|")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.step") == 0)
        }
    }

    @Test("a snooze, a wait for a signal and a stop of the worker count no attempt, and no step runs again for them")
    func uncounted() async throws {
        let runs = Runs()
        let handler = SteppingHandler { _, context in
            let first = try await context.step("first") { runs.count("first") }
            guard context.attempt == 1, first == 1 else { return .fail(reason: "expected the first attempt") }
            switch runs.count("attempt") {
            case 1: return .snooze(for: .zero)
            case 2: return .wait(for: "goes on", until: context.createdAt + .seconds(3600))
            case 3: try await Task.sleep(for: .seconds(3600))
            default: break
            }
            return try .done(await context.step("second") { runs.count("second") })
        }
        try await withTestDatabase { database, _ in
            var configuration = WorkerConfiguration.withoutMaintenance
            configuration.grace = .milliseconds(50)
            let fixed = configuration
            func worker() -> Worker {
                Worker(
                    database: database, configuration: fixed, logger: Logger(label: "worker"),
                    handlers: Handlers([handler]))
            }
            try await worker().runs {
                try await Queue(database: database).enqueue(Stepping(), .maxAttempts(1))
                #expect(try await database.becomes("exists (select from errand.job where state = 'parked')"))
                try await database.execute("select errand.signal('goes on')")
                #expect(try await runs.reach(3, of: "attempt"))
            }
            #expect(try await database.text("select state, attempt from errand.job") == "available|0")
            let isDrained = try await worker().runs { try await database.drains() }
            #expect(isDrained)
            #expect(try await database.text("select state, attempt, output from errand.history") == "succeeded|1|1")
        }
        #expect(runs["first"] == 1 && runs["second"] == 1)
    }

    @Test("a step whose worker has lost the job records nothing, and throws; the next attempt runs it")
    func staleAttempt() async throws {
        let runs = Runs()
        let (thrown, throwing) = AsyncStream.makeStream(of: String.self)
        let handler = SteppingHandler { _, context in
            try await context.step("before") { _ = runs.count("before") }
            do {
                return try .done(
                    await context.step("meanwhile") {
                        let run = runs.count("meanwhile")
                        guard run == 1 else { return run }
                        // It doesn't stop when it is told to.
                        try await Task {
                            try await context.database.transaction { transaction in
                                try await transaction.execute(.silencesWorkers())
                                try await transaction.execute("select errand_internal.rescue()")
                            }
                        }.value
                        return run
                    })
            } catch {
                throwing.yield("\(error)")
                throw error
            }
        }
        try await withWorker([handler], configure: { $0.heartbeatInterval = .milliseconds(200) }) { database, queue in
            try await queue.enqueue(Stepping())
            let error = await thrown.first { _ in true }
            #expect(error == "step meanwhile: nothing was recorded: this worker no longer owns the job")
            #expect(try await database.drains())
            #expect(try await database.text("select attempt, crashes, output from errand.history") == "2|1|2")
            #expect(try await database.count("from errand.step") == 2)
        }
        #expect(runs["before"] == 1 && runs["meanwhile"] == 2)
    }

    @Test("what a step has done is recorded though its attempt was stopped meanwhile, and no further step begins")
    func stopped() async throws {
        let runs = Runs()
        let handler = SteppingHandler { _, context in
            try await context.step("slow") {
                _ = runs.count("slow")
                if context.attempt == 1 { context.control.interrupt(.deadline) }
            }
            try await context.step("next") { _ = runs.count("next \(context.attempt)") }
            return .done
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(Stepping())
            #expect(try await database.becomes("exists (select from errand.history)", after: database.promote))
            #expect(
                try await database.text("select attempt, attempts -> 0 ->> 'outcome' from errand.history")
                    == "2|retried")
        }
        #expect(runs["slow"] == 1 && runs["next 1"] == 0 && runs["next 2"] == 1)
    }

    @Test("while another session has the job locked, a step waits, and its record follows")
    func locked() async throws {
        let (locked, lock) = AsyncStream.makeStream(of: Void.self)
        let runs = Runs()
        let handler = SteppingHandler { _, context in
            try await context.step("locked") {
                _ = runs.count("locked")
                for await _ in locked { break }
            }
            try await context.stepTransaction("also") { transaction in
                try await transaction.execute("select 1")
                _ = runs.count("also")
            }
            return .done
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(Stepping())
            #expect(try await runs.reach(1, of: "locked"))
            let session = try await database.session()
            try await session.execute("begin")
            try await session.execute("select from errand.job for update")
            lock.yield()
            let asks = """
                exists (
                    select from pg_stat_activity where query like '%record_step_v1%' and pid <> pg_backend_pid())
                """
            #expect(try await database.becomes(asks))
            #expect(try await database.count("from errand.step") == 0)
            try await session.execute("commit")
            await session.close()
            #expect(try await database.drains())
            #expect(try await database.count("from errand.step") == 2)
        }
        #expect(runs["locked"] == 1 && runs["also"] == 1)
    }

    @Test("a step in a transaction and what it writes are there together, or neither")
    func transaction() async throws {
        let runs = Runs()
        let handler = SteppingHandler { _, context in
            let written = try await context.stepTransaction("book") { transaction in
                try await transaction.execute("insert into public.effect values ('book')")
                if runs.count("book") == 1 { throw CocoaError(.userCancelled) }
                return "written"
            }
            try await context.stepTransaction("cancelled") { transaction in
                try await transaction.execute("insert into public.effect values ('cancelled')")
                guard written == "written", context.attempt == 2 else { return }
                try await context.database.execute(
                    Statement("select errand.cancel($1, 'while it runs')", [[context.id]]))
            }
            return .done
        }
        try await withWorker([handler]) { database, queue in
            try await database.execute("create table public.effect (name text)")
            try await queue.enqueue(Stepping())
            #expect(try await database.becomes("exists (select from errand.history)", after: database.promote))
            let both = """
                select (select string_agg(name, ' ') from public.effect),
                    (select string_agg(name, ' ' order by name) from errand.step)
                """
            #expect(try await database.text(both) == "book|book")
            // The attempt that was cancelled is over, and the retried one finds its first step done.
            try await database.execute("select errand.retry(array(select id from errand.history))")
            #expect(
                try await database.becomes(
                    "exists (select from errand.history where state = 'succeeded')", after: database.promote))
            #expect(try await database.text(both) == "book cancelled|book cancelled")
        }
        #expect(runs["book"] == 2)
    }

    @Test("steps side by side are all recorded; of two with one name in transactions one is written")
    func sideBySide() async throws {
        let handler = SteppingHandler { _, context in
            let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...10 {
                    group.addTask { try await context.step("number \(number)") { number } }
                    group.addTask {
                        try await context.stepTransaction("one") { transaction in
                            try await transaction.execute(Statement("insert into public.effect values ($1)", [number]))
                            return 0
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            return try .done(sum)
        }
        try await withWorker([handler]) { database, queue in
            try await database.execute("create table public.effect (number bigint)")
            try await queue.enqueue(Stepping())
            #expect(try await database.drains())
            #expect(try await database.text("select state, output from errand.history") == "succeeded|55")
            #expect(try await database.count("from errand.step") == 11)
            #expect(try await database.count("from public.effect") == 1)
        }
    }

    @Test("a name or an output out of bounds, and a record of another type, fail the job for good, and say why")
    func bounds() async throws {
        let name = String(repeating: "n", count: 201)
        let handler = SteppingHandler { job, context in
            switch job.number {
            case 0: try await context.step("") {}
            case 1: try await context.step(name) {}
            case 2: try await context.step("a\nb") {}
            case 3: _ = try await context.step("large") { String(repeating: "x", count: 262_143) }
            // As the server writes it.
            case 4: _ = try await context.step("numbers") { [Int](repeating: 1, count: 120_000) }
            default:
                try await context.step("typed") {}
                _ = try await context.step("typed") { 1 }
            }
            return .done
        }
        let errors = [
            "step: name: expected 1 to 200 characters, got ''",
            "step: name: expected 1 to 200 characters, got '\(name.prefix(120))'",
            "step: name: expected 1 to 200 characters, got 'a\nb'",
            "output: expected at most 262144 bytes as text, got 262145",
            "step: output: expected at most 262144 bytes as text, got 360000",
            "step typed: its record does not fit Int: output: expected Int, got null",
        ]
        try await withWorker([handler]) { database, queue in
            for number in errors.indices {
                let id = try await queue.enqueue(Stepping(number: number), .followed).id
                let end = try await queue.end(of: id, timeout: .seconds(30))
                #expect(end.state == "failed" && end.error == errors[number], "\(end.error ?? "none")")
            }
            #expect(try await database.text("select name from errand.step") == "typed")
        }
    }
}
