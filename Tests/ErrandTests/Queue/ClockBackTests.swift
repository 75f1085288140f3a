import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The server's clock is put back by an hour") struct ClockBackTests {
    private static let kinds = #"""
        [{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2, "is_whole": true,
            "circuits": ["storage"]}]
        """#

    @Test("jobs of a circuit that was closed before it are released all the same")
    func closed() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 5))
            try await database.execute("select errand.circuit_open('storage', 'moves')")
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute("select errand.circuit_close('storage')")
            try await database.execute(
                """
                update errand.circuit
                set closed_at = now() + interval '1 hour', released_at = now() + interval '1 hour'
                """)
            #expect(
                try await database.becomes(
                    "count(*) = 5 from errand.job where state = 'available'", after: database.promote))
        }
    }

    @Test("jobs that found a service down before it come back")
    func failed() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(Noop())
            try await worker.end(
                worker.claim(1), as: { .parked($0, circuit: "storage", reason: "connection refused") })
            #expect(try await database.count("from errand.job where state = 'parked'") == 1)
            try await database.execute("update errand.circuit set failed_at = now() + interval '1 hour'")
            #expect(
                try await database.becomes(
                    "count(*) = 1 from errand.job where state = 'available'", after: database.promote))
        }
    }

    @Test("a rate that was used up before it has room again after its span")
    func rate() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_rate('default', '1 second', 2)")
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 4))
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(4).count == 2)
            try await database.execute(
                "update errand.rate_log set last_at = array(select at + interval '1 hour' from unnest(last_at) as at)")
            // Earlier starts count, so there are never more than allowed.
            #expect(try await worker.claim(4).isEmpty)
            var count = 0
            let start = ContinuousClock.now
            while count < 2, ContinuousClock.now - start < .seconds(60) {
                try await Task.sleep(for: .milliseconds(50))
                count += try await worker.claim(4).count
            }
            #expect(count == 2)
        }
    }

    @Test("a worker that died before it is found dead when its lease is over")
    func rescue() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await Queue(database: database).enqueue(Noop())
            #expect(try await worker.claim(1).count == 1)
            try await database.execute(
                """
                update errand.worker
                set heartbeat_at = now() + interval '1 hour', lease = '300 ms', heartbeat_interval = '100 ms'
                """)
            let isBack = "exists (select from errand.job where state = 'available' and crashes = 1)"
            #expect(
                try await database.becomes(isBack) {
                    try await database.execute("select errand_internal.rescue()")
                })
        }
    }

    @Test("schedules tick on, and a tick that has had its job gets no second one")
    func schedules() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('fast', 'every 1 s', 'noop')")
            try await database.execute(
                """
                update errand.schedule
                set
                    last_tick = now() + interval '1 day', next_tick = now() + interval '1 day',
                    due_at = now() + interval '1 day'
                """)
            try await database.execute(
                """
                insert into errand.tick (tick, schedule, outcome, job_id)
                values (date_trunc('second', now()) + interval '1 hour', 'fast', 'coalesced', null),
                    (date_trunc('second', now()) + interval '1 day', 'fast', 'late', 4711)
                """)
            var loop = SchedulerLoop(database: database, definitions: [], logger: Logger(label: "test"))
            #expect(
                try await database.becomes("exists (select from errand.tick where outcome = 'enqueued')") {
                    _ = try await loop.tick()
                })
            #expect(try await database.word("select bool_and(last_tick <= now())::text from errand.schedule") == "true")
            #expect(
                try await database.word("select string_agg(outcome, ' ') from errand.tick where tick > now()") == "late"
            )
        }
    }

    @Test("a maintenance task whose last run was before it runs at once")
    func maintenance() async throws {
        try await withTestDatabase { database, _ in
            for (task, call) in [
                ("statistics", "errand.refresh_statistics()"),
                ("prune", "errand_internal.prune() is not null"),
                ("rescue", "(select next_in > 0 from errand_internal.maintain_v1(null, false))"),
                ("schedule", "(select ticks is null from errand_internal.tick_v1())"),
            ] {
                try await database.execute("update errand.maintenance_task set done_at = null")
                try await database.execute(
                    Statement(
                        """
                        update errand.maintenance_task
                        set done_at = now() + interval '1 day', took_ms = 1, done_by = 'x'
                        where name = $1
                        """, [task]))
                let late =
                    "select (is_late and silent_for is null)::text from errand.maintenance_status where task = '\(task)'"
                #expect(try await database.word(late) == "true")
                if task == "schedule" { #expect(try await database.word(Self.isOk("scheduler")) == "false") }
                #expect(try await database.word("select (\(call))::text") == "true")
                #expect(try await database.word(late) == "false")
                if task == "schedule" { #expect(try await database.word(Self.isOk("scheduler")) == "true") }
            }
            try await database.execute("select errand_internal.set_due('promote', '1 day')")
            #expect(try await database.word(Self.isOk("maintenance")) == "false")
            try await database.execute("select errand.maintain(), errand.maintain(), errand.maintain()")
            #expect(try await database.word(Self.isOk("maintenance")) == "true")
        }
    }

    private static func isOk(_ check: String) -> String {
        "select ok::text from errand.health() where check_name = '\(check)'"
    }

    @Test("what was counted before it is in no figure of the last minutes")
    func figures() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.finished_per_minute (minute, worker_id, jobs, wait_ms, run_ms, queue, kind, outcome)
                values (now() + interval '1 day', 1, 100, 0, 0, 'default', 'noop', 'failed')
                """)
            let failures = "select detail from errand.health() where check_name = 'failures'"
            #expect(try await database.word(failures) == "0 failed and 0 succeeded within 5 minutes")
            #expect(try await database.count("from errand_internal.compute_throughput()") == 0)
            #expect(try await database.count("from errand.queue_minutes('{default}')") == 0)
        }
    }

    @Test("a circuit that failed before it is probed soon, and failures before it count no more")
    func probes() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(Noop())
            func failure() async throws {
                try await worker.end(
                    worker.claim(1), as: { .parked($0, circuit: "storage", reason: "connection refused") })
            }
            try await failure()
            try await database.execute(
                """
                update errand.circuit
                set failing_since = now() + interval '1 hour', failed_at = now() + interval '1 hour', failures = 2
                """)
            #expect(
                try await database.becomes(
                    "count(*) = 1 from errand.job where state = 'available'", after: database.promote))
            try await failure()
            #expect(try await database.word("select (opened_at is null)::text from errand.circuit") == "true")
            try await database.execute(
                """
                update errand.circuit
                set opened_at = now() + interval '1 hour', opened_by = 'failures', until = now() + interval '1 hour',
                    failed_at = now() + interval '1 hour'
                """)
            #expect(
                try await database.becomes("probe_job_id is not null from errand.circuit", after: database.promote))
        }
    }

    @Test("jobs that were in two crashes don't wait for one that was released before it")
    func crashed() async throws {
        try await withTestDatabase { database, _ in
            for _ in 1...2 { try await Queue(database: database).enqueue(Noop()) }
            try await database.execute(
                """
                update errand.job
                set state = 'parked', queue_position = null, parked_for = 'crash', crashes = 2
                where id = (select max(id) from errand.job)
                """)
            try await database.execute(
                "update errand.job set crashes = 2, run_at = now() + interval '1 hour' where state = 'available'")
            try await database.execute("select errand_internal.release_crashed()")
            #expect(try await database.count("from errand.job where state = 'available'") == 2)
        }
    }

    @Test("a search that began after a job of before it finds jobs that are due now")
    func promotion() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop(), .after(.seconds(3600)))
            try await database.execute("update errand.job set run_at = now() - interval '1 second'")
            try await database.execute("select errand_internal.promote(1000, now() + interval '1 day')")
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
        }
    }
}
