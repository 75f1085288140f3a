import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Maintenance") struct MaintenanceTaskTests {
    private let logger = Logger(label: "test.maintenance") { _ in SwiftLogNoOpLogHandler() }

    /// Runs maintenance until the condition holds, at most 10 s; returns whether it came to hold.
    private func run(on database: Database, until condition: Statement) async throws -> Bool {
        let service = Maintenance(database: database, logger: logger)
        let running = Task { try await service.run() }
        var holds = false
        for _ in 0..<1000 where !holds {
            try await Task.sleep(for: .milliseconds(10))
            holds = try await database.query(condition).scalar(Bool.self)
        }
        running.cancel()
        try await running.value
        return holds
    }

    @Test("scheduled jobs become available when due, also more than one batch of them")
    func promotes() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.enqueue('noop', run_at => now() + interval '300 ms') from generate_series(1, 2500)")
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '1 hour')")
            let allAvailable: Statement = "select count(*) filter (where state = 'available') = 2500 from errand.job"
            #expect(try await run(on: database, until: allAvailable))
        }
    }

    @Test("a scheduled job whose transaction commits late, or whose row was locked, becomes available soon afterwards")
    func promotesLateJobs() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.enqueue('noop', tags => array['locked'], run_at => now() + interval '1 hour')")
            try await database.execute("update errand.job set run_at = now() - interval '1 minute'")
            let running = Task { try await Maintenance(database: database, logger: logger).run() }
            try await database.transaction { transaction in
                try await transaction.execute("select from errand.job for update")
                try await database.execute("select errand.enqueue('noop', run_at => now() + interval '100 ms')")
                // From now on, searches begin behind the locked job.
                #expect(try await database.becomes("count(*) = 1 from errand.job where state = 'available'"))
            }
            #expect(
                try await database.becomes(
                    "count(*) = 2 from errand.job where state = 'available'", within: .seconds(20)))
            // As a transaction does that was open for a minute.
            try await database.execute(
                """
                insert into errand.job (kind, state, run_at, queue_position)
                values ('noop', 'scheduled', now() - interval '1 minute', null)
                """)
            #expect(
                try await database.becomes(
                    "count(*) = 3 from errand.job where state = 'available'", within: .seconds(20)))
            running.cancel()
            try await running.value
        }
    }

    @Test("scheduled jobs become available soon after their time beside 500 limits that jobs wait for")
    func besideLimits() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('k/*', 1)")
            try await database.execute(
                """
                select errand.enqueue_many(jsonb_agg(jsonb_build_object('kind', 'noop', 'limit_key', 'k/' || n % 500)))
                from generate_series(0, 999) as n
                """)
            let worker = try await ManualWorker(database)
            // The claims park the other jobs.
            #expect(
                try await database.becomes(
                    "count(*) filter (where state = 'running') = 500 and count(*) filter (where state = 'parked') = 500 from errand.job",
                    after: { _ = try await worker.claim(1000) }))
            try await database.execute(
                "select errand.enqueue('noop', run_at => now() + n * interval '250 ms') from generate_series(1, 8) as n"
            )
            let service = Maintenance(database: database, logger: logger)
            let running = Task { try await service.run() }
            var latest: Duration = .zero
            while let late = try await database.query(
                "select (extract(epoch from clock_timestamp() - min(run_at)) * 1000)::bigint from errand.job where state = 'scheduled'"
            ).scalar(Int64?.self) {
                latest = max(latest, .milliseconds(late))
                try await Task.sleep(for: .milliseconds(20))
            }
            running.cancel()
            try await running.value
            #expect(latest <= .seconds(Hardness.isFull ? 1 : 10))
        }
    }

    @Test("a lost worker's jobs go back to the queue")
    func rescues() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop')")
            try await database.execute(
                """
                with lost as (
                    insert into errand.worker (
                        heartbeat_at, lease, heartbeat_interval, name, version, queues, kinds)
                    values (now() - interval '1 minute', '2 s', '100 ms', 'lost', '0', '{default}', '{noop}')
                    returning id
                ),
                held as (
                    update errand.job
                    set state = 'running', worker_id = (select id from lost), attempt = 1, started_at = now()
                    returning id, worker_id
                )
                insert into errand.claim (worker_id, generation, job_ids) select worker_id, 0, array[id] from held
                """)
            let isBack: Statement = "select state = 'available' and crashes = 1 from errand.job"
            #expect(try await run(on: database, until: isBack))
        }
    }

    @Test(
        "of jobs that were in two crashes one at a time goes back to the queue, and the next one after its end or a minute"
    )
    func crashedAlone() async throws {
        try await withTestDatabase { database, _ in
            for _ in 1...3 { try await database.execute("select errand.enqueue('noop')") }
            try await database.execute(
                "update errand.job set state = 'running', worker_id = 4711, crashes = 1, started_at = now()")
            let available: Statement = "select count(*) filter (where state = 'available') from errand.job"
            func release() async throws -> Int {
                _ = try await database.query("select errand_internal.release_crashed()")
                return try await database.query(available).scalar(Int.self)
            }
            try await database.execute("select errand_internal.rescue(0)")
            #expect(try await database.query(available).scalar(Int.self) == 0)
            let code = "select code from errand.explain((select min(id) from errand.job)) limit 1"
            #expect(try await database.query(Statement(code)).scalar(String.self) == "crashed")
            for _ in 1...3 { #expect(try await release() == 1) }
            // The first one runs and the next one waits. When the first one finishes, the next one starts.
            try await database.execute(
                "update errand.job set state = 'running', started_at = now() where state = 'available'")
            #expect(try await release() == 0)
            try await database.execute("delete from errand.job where state = 'running'")
            #expect(try await release() == 1)
            // A long-running one delays no other.
            try await database.execute(
                """
                update errand.job
                set state = 'running', started_at = now() - interval '61 s', run_at = now() - interval '62 s'
                where state = 'available'
                """)
            #expect(try await release() == 1)
        }
    }

    @Test("maintenance that had nothing to do releases jobs that are parked later")
    func releasesLater() async throws {
        try await withTestDatabase { database, _ in
            let service = Maintenance(database: database, logger: logger)
            let running = Task { try await service.run() }
            // It promotes the job with the second run of promotion at the earliest. The other tasks, which begin with
            // the first one, have found nothing by then, and only look for what comes.
            #expect(try await database.becomes("exists (select from errand.maintenance_task where name = 'rescue')"))
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '1 s')")
            #expect(try await database.becomes("exists (select from errand.job where state = 'available')"))
            try await database.execute("delete from errand.job")
            try await database.transaction { transaction in
                try await transaction.execute("select errand.enqueue('noop')")
                try await transaction.execute(
                    """
                    update errand.job set state = 'parked', queue_position = null, parked_for = 'crash', crashes = 2,
                        attempt = 1, run_at = now() - interval '2 minutes'
                    """)
                try await transaction.execute(
                    "select errand.set_limit('k', 0), errand.enqueue('noop', limit_key => 'k'), errand.set_limit('k', 1)"
                )
            }
            // Long before the tasks themselves would look again.
            let areReleased = "count(*) = 2 from errand.job where state = 'available'"
            #expect(try await database.becomes(areReleased, within: .seconds(15)))
            running.cancel()
            try await running.value
        }
    }

    @Test("old ticks are pruned, except the newest of each schedule")
    func prunesTicks() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('yearly', '@yearly', 'noop')")
            try await database.execute(
                """
                insert into errand.tick (schedule, tick, outcome)
                select schedule, now() - days * interval '1 day', 'skipped'
                from (values ('yearly', 400), ('yearly', 30), ('dropped', 30), ('dropped', 1)) as past (schedule, days)
                """)
            try await database.execute(
                "update errand.schedule set last_tick = (select max(tick) from errand.tick where schedule = name)")
            try await database.execute("select errand_internal.prune_ticks()")
            #expect(try await database.text("select schedule from errand.tick order by schedule") == "dropped\nyearly")
        }
    }
}
