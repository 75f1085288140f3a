import ErrandTestKit
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

/// A job of a kind with a circuit.
private struct Needy: Job {
    static let kind: JobKind = "needy"
    static let policy = JobPolicy(circuits: ["store"])
}

private struct NeedyHandler: JobHandler {
    let times: Times

    func run(_ job: Needy, in context: JobContext) async throws -> Outcome {
        times.begin(context.id)
        times.end(context.id)
        return .done
    }
}

/// The order in which jobs began and ended.
private final class Times: Sendable {
    private let all = Mutex<(events: Int, jobs: [Int64: (begun: Int, ended: Int?)])>((0, [:]))
    private let isBlocked = Mutex(false)

    /// Keeps the jobs that fill the queue from ending, so that those behind them don't begin.
    func block(_ isBlocked: Bool) { self.isBlocked.withLock { $0 = isBlocked } }

    func waitWhileBlocked() async throws {
        while isBlocked.withLock(\.self) { try await Task.sleep(for: .milliseconds(20)) }
    }

    func begin(_ job: Int64) {
        all.withLock { all in
            all.events += 1
            all.jobs[job] = (all.events, nil)
        }
    }

    func end(_ job: Int64) {
        all.withLock { all in
            all.events += 1
            all.jobs[job]?.ended = all.events
        }
    }

    /// The most other jobs that began while one of `jobs` was due: a job that was enqueued later had begun, and the one
    /// of `jobs` before it had ended. Nil if one of them never began.
    func mostPassed(_ jobs: [Int64]) -> Int? {
        all.withLock { all in
            let others = all.jobs.filter { !jobs.contains($0.key) }
            var most = 0
            var before: Int?
            for job in jobs {
                guard let (begun, ended) = all.jobs[job] else { return nil }
                let moments = [others.filter { $0.key > job }.map(\.value.begun).min(), before].compactMap(\.self)
                if let due = moments.max() {
                    most = max(most, others.values.count { due <= $0.begun && $0.begun < begun })
                }
                before = ended
            }
            return most
        }
    }
}

/// Jobs that once starved while others waited in the queue. Each starts before 200 others do that come after it: the
/// jobs of a second.
@Suite("Jobs behind a long queue") struct StarvationTests {
    private static let most = 200

    /// Takes 20 ms per job in four slots: 200 jobs per second.
    private static func filler(_ times: Times) -> SlowHandler {
        SlowHandler { context in
            times.begin(context.id)
            try await Task.sleep(for: .milliseconds(20))
            try await times.waitWhileBlocked()
            times.end(context.id)
        }
    }

    /// Runs `body` beside a worker and maintenance; the queue is paused until `body` resumes it.
    private func behindBacklog(_ body: (Database, Queue, Times) async throws -> Void) async throws {
        let times = Times()
        let handlers: [any JobHandler] = [Self.filler(times), NeedyHandler(times: times)]
        try await withWorker(handlers, configure: { $0.queues = ["default": 4] }) { database, queue in
            try await database.execute("select errand.pause_queue('default', 'test', force => true)")
            let maintenance = Maintenance(database: database, logger: Logger(label: "maintenance"))
            let running = Task { try await maintenance.run() }
            try await body(database, queue, times)
            running.cancel()
            try await running.value
        }
    }

    private func fill(_ queue: Queue, _ count: Int) async throws {
        try await queue.enqueue(all: [Slow](repeating: Slow(), count: count))
    }

    @Test("of one limit, with many before and behind them: one after the other, without a wait between")
    func limited() async throws {
        try await behindBacklog { database, queue, times in
            try await database.execute("select errand.set_limit('one', 1)")
            try await fill(queue, 300)
            var limited: [Int64] = []
            for _ in 0..<6 { limited.append(try await queue.enqueue(Slow(), .limited(by: "one")).id) }
            try await fill(queue, 900)
            try await database.execute("select errand.resume_queue('default')")
            #expect(try await database.becomes("not exists (select from errand.job where limit_key = 'one')"))
            let passed = try #require(times.mostPassed(limited))
            #expect(passed <= Self.most)
            try await database.execute("delete from errand.job where state = 'available'")
        }
    }

    @Test("that were in two crashes, with rescues all the time")
    func crashed() async throws {
        try await behindBacklog { database, queue, times in
            try await fill(queue, 200)
            var crashed: [Int64] = []
            for _ in 0..<3 { crashed.append(try await queue.enqueue(Slow()).id) }
            try await fill(queue, 900)
            try await database.execute(Statement("update errand.job set crashes = 2 where id = any($1)", [crashed]))
            try await database.execute("select errand.resume_queue('default')")
            #expect(
                try await database.becomes("not exists (select from errand.job where crashes = 2)") {
                    try await database.execute("select errand_internal.rescue()")
                })
            let passed = try #require(times.mostPassed(crashed))
            #expect(passed <= Self.most)
            try await database.execute("delete from errand.job where state = 'available'")
        }
    }

    @Test("that probes a service, whose circuit closes after it though it waited in the queue for 12 s")
    func probe() async throws {
        try await behindBacklog { database, queue, times in
            times.block(true)
            try await database.execute("select errand.resume_queue('default')")
            try await database.execute("select errand.circuit_open('store', 'test', now())")
            try await fill(queue, 100)
            // Before the probe: a free slot would start it at once.
            #expect(try await database.becomes("count(*) >= 4 from errand.job where state = 'running'"))
            try await database.execute(
                "insert into errand.job (queue, kind, state, parked_for) values ('default', 'needy', 'parked', 'circuit:store')"
            )
            #expect(
                try await database.becomes("count(*) = 1 from errand.job where kind = 'needy' and state = 'available'"))
            try await database.execute(
                "update errand.circuit set released_at = released_at - interval '12 seconds'")
            let needy = try await database.query("select id from errand.job where kind = 'needy'").scalar(Int64.self)
            try await fill(queue, 900)
            times.block(false)
            #expect(try await database.becomes("count(*) = 1 from errand.circuit where opened_at is null"))
            let passed = try #require(times.mostPassed([needy]))
            #expect(passed <= Self.most)
            #expect(try await database.count("from errand.history where kind = 'needy' and attempt = 1") == 1)
            try await database.execute("delete from errand.job where state = 'available'")
        }
    }
}
