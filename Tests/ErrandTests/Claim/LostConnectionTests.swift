import ErrandTestKit
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("Lost connections") struct LostConnectionTests {
    @Test("no job is lost or stuck when connections are cut at any moment")
    func cuts() async throws {
        let starts = Mutex<[Int: Int]>([:])
        let handler = ProbeHandler { job, _ in
            starts.withLock { $0[job.step, default: 0] += 1 }
            try await Task.sleep(for: .milliseconds(job.step % 3))
            return .done
        }
        let count = 1500
        try await withWorker([handler], configure: { $0.queues = ["default": 40] }) { database, queue in
            try await queue.enqueue(all: (0..<count).map(Probe.init))
            let server = try await database.makeConnection()
            for _ in 0..<10 {
                try await Task.sleep(for: .milliseconds(60))
                // All other connections: claims, heartbeats and the listener. It waits for their ends: a pooler would
                // give this session one that is about to end.
                try await server.execute(
                    """
                    select pg_terminate_backend(pid, 5000)
                    from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid() and application_name = 'errand'
                    """)
            }
            let isDrained = try await server.becomes("not exists (select from errand.job)", within: .seconds(60))
            #expect(isDrained)
            let ended = try await server.query("select count(*), count(distinct id) from errand.history")
            #expect(try ended[0].decode(Int.self, Int.self) == (count, count))
            await server.close()
        }
        #expect(starts.withLock { $0.count } == count)
    }

    @Test("a worker that lost its lease stops its attempts, and continues with a new id")
    func lostLease() async throws {
        let (started, start) = AsyncStream.makeStream(of: Int.self)
        let (interrupted, interrupt) = AsyncStream.makeStream(of: Interruption?.self)
        let handler = SlowHandler { context in
            start.yield(context.attempt)
            guard context.attempt == 1 else { return }
            try? await Task.sleep(for: .seconds(30))
            interrupt.yield(context.interruption)
        }
        try await withWorker([handler], configure: { $0.heartbeatInterval = .milliseconds(200) }) { database, queue in
            try await queue.enqueue(Slow())
            #expect(await started.first { _ in true } == 1)
            // Another worker has rescued its jobs.
            // In one transaction, so that no heartbeat runs in between.
            try await database.transaction { transaction in
                try await transaction.execute(.silencesWorkers())
                try await transaction.execute("select errand_internal.rescue()")
            }
            #expect(await interrupted.first { _ in true } == .leaseLost)
            #expect(await started.first { _ in true } == 2)
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where attempt = 2 and crashes = 1") == 1)
            // A claim that had begun before the loss may have taken the job for the old id, until the next heartbeat.
            #expect(try await database.becomes("exists (select from errand.worker where id > 1)"))
        }
    }

    @Test("marks outlive a claim that was cancelled for taking too long")
    func slowClaim() async throws {
        let guardSaying = { (sql: String) in
            Statement(
                """
                create or replace function public.slow(payload jsonb) returns boolean
                language sql stable security definer set search_path = pg_catalog, pg_temp as $$ \(sql) $$
                """)
        }
        let cancels = """
            coalesce((
                select bool_or(pg_cancel_backend(pid)) from pg_stat_activity
                where datname = current_database() and wait_event = 'PgSleep'), false)
            """
        try await withWorker(configure: { $0.heartbeatInterval = .milliseconds(50) }) { database, queue in
            try await database.execute(guardSaying("select pg_sleep(600) is not null"))
            try await database.execute("select errand.put_guard('slow', 'public.slow')")
            let knowsPositions = "exists (select from errand.worker where (marks -> 'default' ->> 1)::bigint > 0)"
            let knew = try await database.becomes(knowsPositions) { try await queue.enqueue(Noop()) }
            #expect(knew)
            try await queue.enqueue(Noop(), .guarded(by: "slow"))
            for _ in 0..<2 {
                #expect(try await database.becomes(cancels))
                let cancelled = try await database.word("clock_timestamp()")
                #expect(try await database.becomes("min(heartbeat_at) > '\(cancelled ?? "")' from errand.worker"))
                #expect(try await database.query(Statement("select \(knowsPositions)")).scalar(Bool.self))
            }
            try await database.execute(guardSaying("select true"))
            _ = try await database.query(Statement("select \(cancels)"))
            #expect(try await database.drains())
        }
    }

    @Test("a worker waits for a database that isn't there yet")
    func waitsForDatabase() async throws {
        try await withWorker { database, queue in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            try await database.execute("alter table errand.worker rename to hidden")
            try await queue.enqueue(Noop())
            try await Task.sleep(for: .milliseconds(300))
            #expect(try await database.count("from errand.job") == 1)
            try await database.execute("alter table errand.hidden rename to worker")
            #expect(try await database.drains())
        }
    }
}

extension Connection {
    fileprivate nonisolated func becomes(_ sql: String, within limit: Duration) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            if try await query(Statement("select \(sql)")).scalar(Bool.self) { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
