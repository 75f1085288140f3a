import ErrandTestKit
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

/// A job of a kind that needs a dependency.
private struct Needy: Job {
    static let kind: JobKind = "needy"
    static let policy = JobPolicy(dependency: "store")
}

private struct NeedyHandler: JobHandler {
    let times: Times

    func run(_ job: Needy, in context: JobContext) async throws -> Outcome {
        times.begin(context.id)
        times.end(context.id)
        return .done
    }
}

/// When each job began and ended.
private final class Times: Sendable {
    private let all = Mutex<[Int64: (begun: ContinuousClock.Instant, ended: ContinuousClock.Instant?)]>([:])

    func begin(_ job: Int64) { all.withLock { $0[job] = (.now, nil) } }
    func end(_ job: Int64) { all.withLock { $0[job]?.ended = .now } }
    func begun(_ job: Int64) -> ContinuousClock.Instant? { all.withLock { $0[job]?.begun } }

    /// The longest time for which one of `jobs` was due: a job that was enqueued later had begun, and the one of `jobs`
    /// before it had ended. Nil if one of them never began.
    func longestWait(of jobs: [Int64]) -> Duration? {
        all.withLock { all in
            let others = all.filter { !jobs.contains($0.key) }
            var longest = Duration.zero
            var before: ContinuousClock.Instant?
            for job in jobs {
                guard let (begun, ended) = all[job] else { return nil }
                let iterations = [others.filter { $0.key > job }.map(\.value.begun).min(), before].compactMap(\.self)
                if let due = iterations.max() { longest = max(longest, begun - due) }
                before = ended
            }
            return longest
        }
    }
}

/// Jobs that once starved while others waited in the queue. Each starts within 1 s of its time.
@Suite("Jobs behind a long queue", .serialized) struct StarvationTests {
    /// Takes 20 ms per job in four slots: 200 jobs per second.
    private static func filler(_ times: Times) -> SlowHandler {
        SlowHandler { context in
            times.begin(context.id)
            try await Task.sleep(for: .milliseconds(20))
            times.end(context.id)
        }
    }

    /// Runs `body` beside a worker and housekeeping; the queue is paused until `body` resumes it.
    private func behindBacklog(_ body: (Database, Queue, Times) async throws -> Void) async throws {
        let times = Times()
        let handlers: [any JobHandler] = [Self.filler(times), NeedyHandler(times: times)]
        try await withWorker(handlers, configure: { $0.queues = ["default": 4] }) { database, queue in
            try await database.execute("select errand.pause('default', 'test', force => true)")
            let housekeeping = Housekeeping(database: database, logger: Logger(label: "housekeeping"))
            let running = Task { try await housekeeping.run() }
            try await body(database, queue, times)
            running.cancel()
            try await running.value
        }
    }

    private func fill(_ queue: Queue, _ count: Int) async throws {
        try await queue.enqueue(all: [Slow](repeating: Slow(), count: count))
    }

    @Test("of one limit, with 7 s of jobs before them and as much behind: one after the other, without a wait between")
    func limited() async throws {
        try await behindBacklog { database, queue, times in
            try await database.execute("select errand.set_limit('one', 1)")
            try await fill(queue, 1400)
            var limited: [Int64] = []
            for _ in 0..<12 { limited.append(try await queue.enqueue(Slow(), .limited(by: "one")).id) }
            try await fill(queue, 1400)
            try await database.execute("select errand.resume('default')")
            #expect(try await database.becomes("not exists (select from errand.job where limit_key = 'one')"))
            let longest = try #require(times.longestWait(of: limited))
            #expect(longest <= .seconds(1), "\(longest)")
            try await database.execute("delete from errand.job where state = 'available'")
        }
    }

    @Test("that were in two crashes, with rescues all the time")
    func crashed() async throws {
        try await behindBacklog { database, queue, times in
            try await fill(queue, 400)
            var crashed: [Int64] = []
            for _ in 0..<3 { crashed.append(try await queue.enqueue(Slow()).id) }
            try await fill(queue, 2000)
            try await database.execute(Statement("update errand.job set crashes = 2 where id = any($1)", [crashed]))
            try await database.execute("select errand.resume('default')")
            #expect(
                try await database.becomes("not exists (select from errand.job where crashes = 2)") {
                    try await database.execute("select errand.rescue_v1()")
                })
            let longest = try #require(times.longestWait(of: crashed))
            #expect(longest <= .seconds(1), "\(longest)")
            try await database.execute("delete from errand.job where state = 'available'")
        }
    }

    @Test("that tries a dependency, which closes after it though it waited in the queue for 12 s")
    func probe() async throws {
        try await behindBacklog { database, queue, times in
            try await database.execute("select errand.resume('default')")
            try await database.execute("select errand.dependency_open('store', now(), 'test')")
            try await fill(queue, 2400)
            try await database.execute(
                "insert into errand.job (queue, kind, state, parked_for) values ('default', 'needy', 'parked', 'dependency:store')"
            )
            #expect(
                try await database.becomes("count(*) = 1 from errand.job where kind = 'needy' and state = 'available'"))
            let needy = try await database.query("select id from errand.job where kind = 'needy'").scalar(Int64.self)
            try await fill(queue, 1000)
            #expect(try await database.becomes("count(*) = 1 from errand.dependency where opened_at is null"))
            let closed = ContinuousClock.now
            let longest = try #require(times.longestWait(of: [needy]))
            #expect(longest <= .seconds(1), "\(longest)")
            let begun = try #require(times.begun(needy))
            #expect(closed - begun <= .seconds(5))
            try await database.execute("delete from errand.job where state = 'available'")
        }
    }

    @Test("whose first 60,000 are too late")
    func obsolete() async throws {
        try await behindBacklog { database, queue, times in
            try await database.execute(
                """
                select count(*)
                from errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object('kind', 'slow', 'not_after', now() + interval '1 second'))
                    from generate_series(1, 60000)))
                """)
            let runnable = try await queue.enqueue(Slow()).id
            #expect(try await database.becomes("min(not_after) < now() from errand.job"))
            let resumed = ContinuousClock.now
            try await database.execute("select errand.resume('default')")
            #expect(try await database.becomes("not exists (select from errand.job where not_after is null)"))
            let begun = try #require(times.begun(runnable))
            #expect(begun - resumed <= .seconds(1), "\(begun - resumed)")
        }
    }
}
