import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Order keys across crashes", .serialized) struct OrderCrashTests {
    private let jobs = Hardness.isFull ? 100_000 : 200
    private let keys = Hardness.isFull ? 1000 : 10
    private let workers = Hardness.isFull ? 8 : 2

    /// Attempts of one key that overlap or begin before the one of an older job, by the records of all attempts.
    private static let outOfOrder = """
        with ended as (
            select id, options ->> 'order_key' as key, attempts, started_at, finished_at, attempt
            from errand.history
            union all
            select id, options ->> 'order_key', attempts, started_at, finished_at, 0 from errand.failed
        ),
        run as (
            select id, key, (record ->> 'started_at')::timestamptz as began, (record ->> 'ended_at')::timestamptz as ended
            from ended
            cross join lateral jsonb_array_elements(attempts) as record
            union all
            -- The last one of a job that succeeded has no record.
            select id, key, started_at, finished_at from ended where attempt > 0
        ),
        beside as (
            select
                began < lag(ended) over (partition by key order by began, ended) as is_beside,
                id < lag(id) over (partition by key order by began, ended) as is_late
            from run
        )
        select count(*) filter (where is_beside) + count(*) filter (where is_late) from beside
        """

    /// Stops a worker while it runs jobs, so that its kill loses some.
    private func stop(_ worker: Program, in database: Database) async throws {
        let held = """
            from errand.job
            where state = 'running' and worker_id in (select id from errand.worker where name like '%:\(worker.id)')
            """
        for _ in 0..<1000 {
            worker.send(SIGSTOP)
            // What it has sent before is done then.
            try await Task.sleep(for: .milliseconds(100))
            if try await database.count(held) > 0 { return }
            worker.send(SIGCONT)
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("the worker never ran a job")
    }

    @Test("workers are killed, jobs fail and are retried: no two of a key run at once, and none before an older one")
    func killed() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            let settings = Hardness.settings.merging(["ERRAND_QUEUES": "default=20"]) { one, _ in one }
            var running = try (0..<workers).map { _ in try Program(["worker"], database: url, settings: settings) }
            // One of them alone would be through before the others have begun.
            #expect(try await database.becomes("count(*) = \(workers) from errand.worker", within: .seconds(60)))
            for first in stride(from: 1, through: jobs, by: 20_000) {
                try await database.execute(
                    Statement(
                        """
                        select count(*) from errand.enqueue_many((
                            select jsonb_agg(jsonb_build_object(
                                'kind', 'noop', 'order_key', 'k' || (n * 7919) % $3::int, 'priority', 1 + n % 4,
                                'max_attempts', case when n % 20 = 0 then 2 else 50 end, 'if_head_fails', 'go_on',
                                'payload', case when n % 20 = 0 then '{"fail": "transient"}' else $4 end::jsonb))
                            from generate_series($1::int, $2::int) as n))
                        """, [first, min(jobs, first + 19_999), keys, "{\"sleep_ms\": \(Hardness.isFull ? 20 : 60)}"]))
            }
            for kill in 0..<(Hardness.isFull ? 12 : 1) {
                // The first one early: the other worker must leave jobs to this one.
                let goal = kill * jobs / 14 + 1
                #expect(
                    try await database.becomes(
                        withoutDelays: "count(*) >= \(goal) from errand.history", within: .seconds(300)))
                let victim = running.removeFirst()
                try await stop(victim, in: database)
                victim.send(SIGKILL)
                running.append(try Program(["worker"], database: url, settings: settings))
                try await database.rescueJobs(of: victim)
            }
            #expect(
                try await database.becomes(
                    withoutDelays: "not exists (select from errand.job)", within: Hardness.rescue + .seconds(600)))
            let failed = try await database.count("from errand.failed where payload ? 'fail'")
            let lost = try await database.count("from errand.failed where not payload ? 'fail'")
            #expect(failed == jobs / 20 && lost == 0)
            #expect(try await database.count("from errand.history where state = 'succeeded'") == jobs - jobs / 20)
            let rescued = try await database.count(
                """
                from (select attempts from errand.history union all select attempts from errand.failed) as ended
                where attempts @> '[{"outcome": "lost"}]'
                """)
            #expect(rescued > 0)
            #expect(try await database.query(Statement(Self.outOfOrder)).scalar(Int64.self) == 0)
            #expect(
                try await database.becomes(
                    withoutDelays:
                        "(select count(*) from errand.order_slot) + (select count(*) from errand.order_job) = 0",
                    within: .seconds(30)))
            for worker in running {
                worker.send(SIGTERM)
                #expect(try await worker.exit() == 0)
            }
        }
    }
}
