import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

private struct Sum: Job {
    static let kind: JobKind = "sum"
    let of: [Int]
}

private struct SumHandler: JobHandler {
    func run(_ job: Sum, in context: JobContext) async throws -> Outcome {
        guard !job.of.isEmpty else { return .fail(reason: "nothing to add") }
        if job.of == [0] { return .cancel(reason: "it is 0") }
        return .done(output: try JSONB(encoding: job.of.reduce(0, +)))
    }
}

@Suite("A job of one's own is seen, waited for and cancelled by its login") struct FollowTests {
    @Test("its result comes back, and how it ended otherwise")
    func results() async throws {
        try await withWorker([SumHandler()]) { _, queue in
            let sum = try await queue.enqueue(Sum(of: [1, 2]), .followed)
            #expect(try await queue.result(of: sum.id, as: Int.self, timeout: .seconds(20)) == 3)
            // Known already.
            #expect(try await queue.result(of: sum.id, as: Int.self, timeout: .seconds(20)) == 3)
            let bad = try await queue.enqueue(Sum(of: []), .followed)
            let end = EndedJob(id: bad.id, state: "failed", output: nil, error: "nothing to add")
            await #expect(throws: ResultError.notSucceeded(end)) {
                try await queue.result(of: bad.id, as: Int.self, timeout: .seconds(20))
            }
            let cancelled = try await queue.enqueue(Sum(of: [0]), .followed)
            #expect(try await queue.end(of: cancelled.id, timeout: .seconds(20)).state == "cancelled")
            let unfollowed = try await queue.enqueue(Sum(of: [1]))
            await #expect(throws: ResultError.unknown(id: unfollowed.id)) {
                try await queue.end(of: unfollowed.id, timeout: .seconds(20))
            }
        }
    }

    @Test("hundreds of waits at a time, of single and bulk enqueues, each get their own result")
    func many() async throws {
        try await withWorker([SumHandler()]) { database, queue in
            let ids = try await queue.enqueue(all: (0..<300).map { Sum(of: [$0 + 1]) }, .followed)
            let results = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
                for (index, id) in ids.enumerated() {
                    group.addTask { (index, try await queue.result(of: id, as: Int.self, timeout: .seconds(30))) }
                }
                return try await group.reduce(into: [Int: Int]()) { $0[$1.0] = $1.1 }
            }
            #expect(results == Dictionary(uniqueKeysWithValues: (0..<300).map { ($0, $0 + 1) }))
            // One that listens, whatever the number of waits.
            #expect(try await database.becomes(Follower.oneListens))
        }
    }

    @Test("a wait ends at its timeout and at its cancellation, and the job goes on")
    func timeout() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let job = try await queue.enqueue(Sum(of: [1]), .followed, .after(.seconds(3600)))
            await #expect(throws: ResultError.timedOut(id: job.id)) {
                try await queue.end(of: job.id, timeout: .zero)
            }
            await #expect(throws: ResultError.timedOut(id: job.id)) {
                try await queue.end(of: job.id, timeout: .milliseconds(50))
            }
            let wait = Task { try await queue.end(of: job.id, timeout: .seconds(60)) }
            try await Task.sleep(for: .milliseconds(20))
            wait.cancel()
            await #expect(throws: CancellationError.self) { try await wait.value }
            #expect(try await database.count("from errand.job where state = 'scheduled'") == 1)
        }
    }

    @Test("a wait that began before the end hears of a cancellation by others")
    func cancellation() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let ids = try await queue.enqueue(all: [Sum(of: [1]), Sum(of: [2])], .followed)
            async let one = queue.end(of: ids[0], timeout: .seconds(20))
            async let other = queue.end(of: ids[1], timeout: .seconds(20))
            // Both ways to cancel.
            try await database.execute(Statement("select errand.cancel($1, 'wrong')", [[ids[0]]]))
            try await database.execute(
                "select errand.cancel_where('{\"kind\": \"sum\"}', 'all wrong', dry_run => false)")
            #expect(try await one == EndedJob(id: ids[0], state: "cancelled", output: nil, error: "wrong"))
            #expect(try await other.error == "all wrong")
        }
    }

    @Test("nothing is sent while nobody follows, and a lost notice costs a second at most")
    func notices() async throws {
        try await withWorker([SumHandler()]) { database, queue in
            #expect(
                try await !database.query("select errand_internal.tell_ended_v1('{1}', '{failed}')").scalar(Bool.self))
            let job = try await queue.enqueue(Sum(of: [1]), .followed)
            #expect(try await database.drains())
            #expect(
                try await database.query(Statement("select state from errand.ended($1)", [[job.id]])).scalar(
                    String.self)
                    == "succeeded")
            // From here on somebody listens.
            #expect(
                try await database.query("select errand_internal.tell_ended_v1('{1}', '{failed}')").scalar(Bool.self))
        }
    }
}

@Suite("errand.wait") struct WaitTests {
    @Test("it returns as soon as the job has ended, and at its timeout")
    func ends() async throws {
        try await withWorker([SumHandler()]) { database, _ in
            let id = try await database.query(
                "select job_id from errand.enqueue('sum', '{\"of\": [4]}', follow => true)"
            ).scalar(Int64.self)
            let waited = try await database.query(
                Statement("select state, output::text from errand.wait($1, '20 s')", [id]))[0]
            #expect(try waited.decode(String.self, String.self) == ("succeeded", "4"))
            let later = try await database.query(
                "select job_id from errand.enqueue('sum', run_at => now() + interval '1 hour', follow => true)"
            ).scalar(Int64.self)
            let began = ContinuousClock.now
            let state = try await database.query(Statement("select state from errand.wait($1, '0.1 s')", [later]))
            #expect(try state.scalar(String.self) == "scheduled")
            #expect(ContinuousClock.now - began >= .milliseconds(100))
        }
    }

    @Test("where it could not see the end, it says so at once")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            let enqueue: Statement = "select job_id from errand.enqueue('sum', follow => true)"
            let id = try await database.query(enqueue).scalar(Int64.self)
            for (call, reason) in [
                ("errand.wait(\(id), '61 s')", "expected up to 60 s"),
                ("errand.wait(\(id), null)", "expected up to 60 s"),
                ("errand.wait(\(id + 100))", "expected a job of the caller's own"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.query(Statement("select * from \(call)"))
                }
                #expect(error?.detail.contains(reason) == true, "\(call)")
            }
            let uncommitted = await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    let id = try await transaction.query(enqueue).scalar(Int64.self)
                    try await transaction.execute(Statement("select errand.wait($1)", [id]))
                }
            }
            #expect(uncommitted?.detail.contains("whose enqueue is committed") == true)
            let isolated = await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("set transaction isolation level repeatable read")
                    try await transaction.execute(Statement("select errand.wait($1)", [id]))
                }
            }
            #expect(isolated?.detail.contains("READ COMMITTED, got REPEATABLE READ") == true)
        }
    }
}

extension Follower {
    /// SQL: whether one connection listens for all waits.
    static let oneListens = """
        (
            select count(*) from pg_stat_activity
            where datname = current_database() and query like 'listen%errand_ended%') = 1
        """
}
