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
            #expect(try await database.count("from pg_stat_activity where query = 'listen \"errand_ended\"'") == 1)
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

/// Two logins that may enqueue, and one that is a member of the first.
private struct Logins {
    let database: Database
    let shop: String
    let mail: String
    let member: String

    func query(_ sql: String, as login: String, _ parameters: [any PostgresEncodable] = []) async throws -> Rows {
        try await database.transaction { transaction in
            try await transaction.execute(Statement("set local session authorization \(login)"))
            return try await transaction.query(Statement(sql, parameters))
        }
    }

    static func with(_ body: @Sendable (Logins) async throws -> Void) async throws {
        try await withTestDatabase { database, _ in
            let suffix = UInt32.random(in: .min ... .max)
            let logins = Logins(
                database: database, shop: "shop_\(suffix)", mail: "mail_\(suffix)", member: "member_\(suffix)")
            try await database.execute(Statement("create role \(logins.shop) in role errand_enqueuer"))
            try await database.execute(Statement("create role \(logins.mail) in role errand_enqueuer"))
            try await database.execute(Statement("create role \(logins.member) in role \(logins.shop)"))
            let result: Result<Void, any Error>
            do { result = .success(try await body(logins)) } catch { result = .failure(error) }
            for role in [logins.member, logins.shop, logins.mail] {
                try await database.execute(Statement("drop role \(role)"))
            }
            try result.get()
        }
    }
}

@Suite("A job of one's own is nobody else's") struct OwnJobTests {
    @Test("its login and its members read it, and no other login does")
    func reads() async throws {
        try await Logins.with { logins in
            let enqueue =
                "select job_id from errand.enqueue('sum', '{\"secret\": 1}', unique_key => 'k', follow => true)"
            let id = try await logins.query(enqueue, as: logins.shop).scalar(Int64.self)
            for (login, jobs) in [(logins.shop, 1), (logins.member, 1), (logins.mail, 0)] {
                for call in ["errand.job(\(id))", "errand.job(unique_key => 'k')", "errand.job(unique_key => 'none')"] {
                    let expected = call.contains("none") ? 0 : jobs
                    let found = try await logins.query("select count(*) from \(call)", as: login)
                    #expect(try found.scalar(Int.self) == expected, "\(login): \(call)")
                }
                let explained = try await logins.query("select code from errand.explain_own(\(id))", as: login)
                #expect(try (explained.column(0, as: String.self)[0] == "unknown") == (jobs == 0))
                let ended = try await logins.query("select state from errand.ended('{\(id)}')", as: login)
                #expect(try ended.column(0, as: String.self) == (jobs == 1 ? [] : ["unknown"]))
            }
            await #expect(throws: PostgresError.self) {
                try await logins.query("select payload from errand.jobs", as: logins.shop)
            }
        }
    }

    @Test("its login cancels it, with a reason in the audit, and no other login does")
    func cancels() async throws {
        try await Logins.with { logins in
            let id = try await logins.query("select job_id from errand.enqueue('sum', follow => true)", as: logins.shop)
                .scalar(Int64.self)
            let plain = try await logins.query("select job_id from errand.enqueue('sum')", as: logins.shop)
                .scalar(Int64.self)
            let cancel =
                "select coalesce(was, '-') || ' ' || coalesce(now, '-') from errand.cancel_own($1, 'no longer')"
            let ids = [id, plain, 4_711_000]
            #expect(
                try await logins.query(cancel, as: logins.mail, [ids]).column(0, as: String.self)
                    == ["- -", "- -", "- -"])
            #expect(
                try await logins.query(cancel, as: logins.member, [ids]).column(0, as: String.self)
                    == ["available cancelled", "- -", "- -"])
            let audit = try await logins.database.query("select who, reason from errand.audit where action = 'cancel'")
            #expect(try audit[0].decode(String.self, String.self) == (logins.member, "no longer"))
            let error = await #expect(throws: PostgresError.self) {
                try await logins.query("select errand.cancel_own('{1}', null)", as: logins.shop)
            }
            #expect(error?.sqlState == "ER422")
        }
    }

    @Test("whose job it is can't be chosen, nor taken over by an enqueue that inserts nothing")
    func owner() async throws {
        try await Logins.with { logins in
            for call in [
                "errand.enqueue('sum', options => '{\"owner\": \"\(logins.mail)\"}')",
                "errand.enqueue('sum', options => '{\"owner\": \"\(logins.mail)\"}', follow => true)",
                "errand.enqueue_many('[{\"kind\": \"sum\", \"options\": {\"owner\": \"\(logins.mail)\"}}]')",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await logins.query("select * from \(call)", as: logins.shop)
                }
                #expect(error?.sqlState == "ER422", "\(call)")
            }
            let enqueue = "select job_id from errand.enqueue('sum', unique_key => 'k', follow => true)"
            let id = try await logins.query(enqueue, as: logins.shop).scalar(Int64.self)
            #expect(try await logins.query(enqueue, as: logins.mail).scalar(Int64.self) == id)
            #expect(
                try await logins.query("select count(*) from errand.job(\(id))", as: logins.mail).scalar(Int.self) == 0)
            let bulk = "select job_id from errand.enqueue_many('[{\"kind\": \"sum\", \"follow\": true}]')"
            let other = try await logins.query(bulk, as: logins.mail).scalar(Int64.self)
            #expect(
                try await logins.query("select kind from errand.job(\(other))", as: logins.mail).scalar(String.self)
                    == "sum")
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
