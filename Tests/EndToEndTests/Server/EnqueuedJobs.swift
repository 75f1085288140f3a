import ErrandTestKit
import Foundation
import Postgres
import Testing

/// The jobs that a test has enqueued one by one, and what the server said to each.
struct EnqueuedJobs {
    /// The ids of the jobs whose commit the server has acknowledged.
    private(set) var acknowledged: Set<Int64> = []
    /// How many the server has refused, by SQLSTATE.
    private(set) var refused: [String: Int] = [:]
    /// How many were on the way when the connection broke: they may be there.
    private(set) var unknown = 0

    /// Enqueues a job that sleeps, with a payload that takes room on the server's disk.
    ///
    /// - Parameter priority: 1 begins before the others.
    /// - Returns: its id if the server has acknowledged it.
    @discardableResult
    mutating func enqueue(on database: Database, milliseconds: Int, priority: Int = 2) async -> Int64? {
        let statement = Statement(
            """
            select job_id
            from errand.enqueue(
                'noop',
                jsonb_build_object(
                    'sleep_ms', $1::int8,
                    'padding', (select string_agg(md5(random()::text), '') from generate_series(1, 40))),
                priority => $2)
            """, [milliseconds, Int32(priority)])
        do throws(PostgresError) {
            let id = try await database.query(statement).scalar(Int64.self)
            acknowledged.insert(id)
            return id
        } catch {
            if error.isOutcomeUnknown { unknown += 1 } else { refused[error.sqlState ?? "none", default: 0] += 1 }
            return nil
        }
    }

    /// Expects that each acknowledged job has succeeded exactly once, in one attempt, and that no refused one exists.
    func expectOnceEach(on database: Database) async throws {
        let ended = Set(try await database.query("select id from errand.history").column(0, as: Int64.self))
        #expect(ended.isSuperset(of: acknowledged), "lost: \(acknowledged.subtracting(ended))")
        #expect(ended.count <= acknowledged.count + unknown, "refused, and there: \(ended.subtracting(acknowledged))")
        #expect(try await database.count("from errand.history") == ended.count, "each has ended once")
        #expect(try await database.count("from errand.history where state <> 'succeeded'") == 0)
        #expect(try await database.count("from errand.history where attempt > 1") == 0, "none has begun twice")
        #expect(try await database.count("from errand.history where crashes > 0") == 0, "none was rescued")
        #expect(try await database.count("from errand.job") == 0)
        #expect(try await database.count("from errand.failed") == 0)
    }
}

extension Database {
    /// Like ``becomes(_:within:)``, during faults: a query that fails counts as false.
    func becomes(despiteFaults sql: String, within limit: Duration) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            if (try? await query(Statement("select \(sql)")).scalar(Bool.self)) == true { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
