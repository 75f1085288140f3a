import ErrandTestKit
import Foundation
import Postgres
import Synchronization

@testable import Errand

/// A worker without a process. The test claims and completes its jobs.
struct ManualWorker {
    let database: Database
    let id: Int64

    /// Enters it with kinds as errand_internal.register_kinds takes them; without any it brings `noop` as it is.
    init(_ database: Database, kinds: String = "[]", queue: String = "default") async throws {
        self.database = database
        id = try await database.query(
            Statement(
                "select worker_id from errand_internal.register_worker_v1('hand', '1', '1 min', array[$2], $1)",
                [JSONB(kinds), queue])
        ).scalar(Int64.self)
    }

    /// The same worker on another connection.
    init(_ database: Database, id: Int64) {
        self.database = database
        self.id = id
    }

    /// Claims up to `limit` jobs of any of `kinds`.
    func claim(_ limit: Int, kinds: [String] = ["noop"], queue: String = "default") async throws -> [ClaimedJob] {
        let claim = claiming(limit, kinds: kinds, queue: queue)
        return try claim.reply(await database.query(claim.statement)).jobs
    }

    /// A claim that has not run yet.
    func claiming(
        _ limit: Int, kinds: [String] = ["noop"], queue: String = "default", from starts: [Int64] = [0, 0, 0, 0],
        beginsNow: Int? = nil, takesCrashed: Bool = true
    ) -> Claim {
        Claim(
            queue: queue, kinds: kinds, workerID: id, limit: limit, starts: starts, priorities: [1, 2, 3, 4],
            isDurable: true, beginsNow: beginsNow ?? limit, takesCrashed: takesCrashed, generation: 0)
    }

    /// Writes the jobs' outcomes, and releases jobs that wait for their slots, in one transaction. Returns the refused
    /// ones.
    @discardableResult
    func end(
        _ jobs: [ClaimedJob], as completion: (ClaimedJob) -> Completion = { .succeeded($0) }
    ) async throws -> [Int64] {
        var left = jobs.map(completion)
        var refused: Set<Int64> = []
        while true {
            let statements = Completion.statements(for: left)
            let results = try await database.pipeline(
                statements + [Completion.release(after: left)].compactMap { $0 })
            let unwritten = try CompletionReply(results.prefix(statements.count))
            refused.formUnion(unwritten.refused)
            // A concurrent claim may lock their rows until its transaction ends.
            left = left.filter { unwritten.locked.contains($0.job.id) }
            if left.isEmpty { return refused.sorted() }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Stops its heartbeat and ends its lease.
    func dies() async throws {
        try await database.execute(.silencesWorkers(where: "id = $1", [id]))
        try await database.execute("select errand_internal.rescue()")
    }
}

/// A value that several tasks change.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func with<T: Sendable>(_ body: (inout Value) -> T) -> T {
        value.withLock { value in
            var changed = value
            let result = body(&changed)
            value = changed
            return result
        }
    }
}

extension Database {
    /// A text that a query returns.
    func word(_ sql: String) async throws -> String? {
        try await query(Statement("select (\(sql))::text")).scalar(String?.self)
    }

    /// Makes the guard `wanted`: a job is wanted while the table `open` has its payload's `id`.
    func makeGuard() async throws {
        for statement: Statement in [
            "create table public.open (id int primary key)",
            """
            create function public.wanted(payload jsonb) returns boolean language sql stable security definer
            set search_path = pg_catalog, pg_temp as $$
                select exists (select from public.open where id = (payload ->> 'id')::int)
            $$
            """,
            "select errand.put_guard('wanted', 'public.wanted')",
        ] {
            try await execute(statement)
        }
    }
}
