import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Locks") struct LockTests {
    /// The calls of operators on the engine, each with its locks until the end of its transaction: of each function of
    /// the catalog one with these arguments, and others that meet other rows.
    private func calls(in database: Database) async throws -> [String] {
        let functions = try await PublicFunction.all(of: "errand_ops", in: database).filter {
            $0.isVolatile && $0.name.hasPrefix("errand.")
        }
        #expect(functions.count > 30)
        return functions.map { $0.call(with: Self.arguments) } + Self.calls
    }

    private static let arguments = [
        "ids": "array(select id from errand.job where payload = '1')", "reason": "'x'", "dry_run": "false",
        "force": "true", "filter": #"'{"unique_key": "held"}'"#, "queue": "'default'", "kind": "'noop'", "name": "'s'",
        "audit_id": "(select min(id) from errand.action where jobs > 0)",
        "worker_id": "(select min(id) from errand.worker)", "limit_key": "'a'", "allowed": "999", "priority": "1",
        "rate_key": "'r'", "burst": "2",
        "job_id": "(select min(id) from errand.job where payload = '1' and state = 'available')",
        "batch_id": "(select min(id) from errand.batch)", "action": "'cancel'", "state": "'succeeded'",
        "cron": "'every 5 s'", "schedule": "'every 5 s'",
        "hash": "sha256('s')",
        "url": "'https://errand.example'", "secret_name": "'s'", "endpoint": "'s'",
        "time_zone": "'UTC'", "day": "current_date + 1",
        "topic": "'retry'", "moment": "now()", "since": "now() - interval '1 hour'",
    ]

    private static let calls = [
        "select errand.retry(array(select id from errand.failed))",
        "select errand.discard(array(select id from errand.failed), 'x')", "select errand.pause_queue('other', 'x')",
        "select errand.pause_queue('paused', 'x')", "select errand.resume_queue('paused')",
        "select errand.resume_kind('noop') from errand.pause_kind('noop', 'x', force => true)",
        "select errand.circuit_open('storage', 'x')", "select errand.circuit_open('apns', 'x')",
        "select errand.circuit_close('apns')",
        "select errand.enqueue('noop', unique_key => 'held', on_conflict => 'replace')",
    ]

    @Test("a job that is retried while reschedule waits for another one stays as it is, and the call succeeds")
    func retriedMeanwhile() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            try await database.execute("select errand.cancel('{1}', 'x')")
            let call = try await database.transaction { transaction in
                try await transaction.execute("select from errand.job where id = 2 for update")
                let call = Task {
                    try await database.text("select * from errand.reschedule('{1,2}', priority => 1)")
                }
                let waiting = "from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
                #expect(try await database.becomes("count(*) = 1 \(waiting)"))
                try await database.execute("select errand.retry('{1}')")
                return call
            }
            #expect(try await call.value == "1|available|available\n2|available|available")
            #expect(try await database.text("select id, priority from errand.job order by id") == "1|2\n2|1")
        }
    }

    @Test("no worker and no maintenance waits for what a session has left locked, whatever it called")
    func neverWaits() async throws {
        try await withTestDatabase { database, configuration in
            let worker = try await ManualWorker(database)
            try await prepare(database)
            let running = try await worker.claim(4)
            #expect(running.count == 4)
            var refused: [String] = []
            for call in try await calls(in: database) {
                let session = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
                try await session.execute("begin")
                do {
                    try await session.execute(Statement(call))
                } catch let error as PostgresError where error.sqlState?.hasPrefix("ER") == true {
                    // These samples don't fit together, such as the number of a bulk action.
                    refused.append(call)
                    await session.close()
                    continue
                }
                // Rolled back like the session: the next call finds the same.
                await #expect(throws: Undo.self, "\(call)") {
                    try await database.transaction { transaction in
                        try await work(of: running, beside: transaction)
                        let isPromoted = """
                            count(*) = 1 from errand.job
                            where state = 'available' and run_at < now() and created_at = '2000-01-01Z'
                            """
                        // That call has promoted the job, which stays locked until its end.
                        let isOwn = call.contains("errand.maintain()")
                        #expect(
                            try await transaction.query(Statement("select \(isPromoted)")).scalar(Bool.self) != isOwn,
                            "\(call)")
                        throw Undo()
                    }
                }
                try await session.execute("rollback")
                await session.close()
            }
            #expect(refused.count < 10, "\(refused)")
        }
    }

    private struct Undo: Error {}

    /// What a worker and its maintenance do, in one transaction.
    private nonisolated func work(of running: [ClaimedJob], beside transaction: Transaction) async throws {
        // A wait for the session's locks would never end. This timeout ends it.
        try await transaction.execute("set local lock_timeout = '3s'")
        let ends: [(ClaimedJob) -> Completion] = [
            { .succeeded($0) }, { .retried($0, error: "x", after: .zero) }, { .failed($0, error: "x") },
            { .parked($0, circuit: "storage", reason: "x") },
        ]
        let ended = zip(running, ends).map { $1($0) }
        for statement in Completion.statements(for: ended) + [Completion.release(after: ended)].compactMap({ $0 }) {
            try await transaction.execute(statement)
        }
        for call in [
            "select errand_internal.promote(1000, '-infinity')", "select errand_internal.release_parked()",
            "select errand_internal.check_orders()", "select errand_internal.rescue(0)",
            "select errand_internal.release_crashed()", "select errand_internal.check_children()",
            "select errand_internal.check_rates()",
            "select errand_internal.check_batches()",
            "select errand_internal.update_statistics()",
            "select errand_internal.heartbeat_v1(array[1], 1, '{}', null)",
            "select errand_internal.tick_v1()",
            "select errand_internal.leave_v1(1, true)", "set constraints all immediate",
        ] {
            try await transaction.execute(Statement(call))
        }
    }

    private func prepare(_ database: Database) async throws {
        for statement: Statement in [
            "select errand.set_limit('a', 5)", "select errand.set_rate('default', '1 hour', 1000)",
            "select errand.set_key_rate('r', '1 hour', 1)",
            "select errand.pause_queue('paused', 'x', now() + interval '1 hour', force => true)",
            "update errand.queue set paused_until = now()",
            "select errand.pause_queue('other', 'x', now() + interval '1 hour', force => true)",
            "select errand.put_api_token('s', sha256('x'))",
            "select errand.put_endpoint('s', 'https://errand.example', 's')",
            "select errand.circuit_open('apns', 'x')", "select errand.put_schedule('s', 'every 1 h', 'noop')",
            "update errand.schedule set last_tick = now() - interval '2 h', due_at = now(), owner = session_user",
            """
            insert into errand.failed (
                id, created_at, run_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error)
            values (1000000, now(), now(), 2, 1, 1, 0, 'default', 'noop', '{}', 'x')
            """,
            "select errand.enqueue('noop', payload => '1', limit_key => 'a') from generate_series(1, 4)",
            """
            select errand.enqueue(
                'noop', payload => '1', after => array(select id from errand.job where payload = '1'),
                if_parent_fails => policy)
            from unnest('{wait,go_on,cancel}'::text[]) as policy
            """,
            "select errand.enqueue('noop', payload => '2', batch => errand.batch_open('s', on_failure => '{\"kind\": \"noop\"}'))",
            "select errand.enqueue('noop', payload => '1', order_key => key) from unnest('{o,o,p,p}'::text[]) as key",
            "insert into errand.job (kind, run_at, created_at, state) values ('noop', '2000-01-01Z', '2000-01-01Z', 'scheduled')",
            "select errand.enqueue('noop', unique_key => 'held', queue => 'other', run_at => now() + interval '1 hour')",
        ] {
            try await database.execute(statement)
        }
    }

    @Test(
        "jobs go on beside a running one that a session cancels without committing; it ends as the session does",
        arguments: ["commit", "rollback"])
    func sessionLeftOpen(end: String) async throws {
        try await withWorker([NoopHandler()], configure: { $0.queues = ["default": 4] }) { database, queue in
            let held = try await queue.enqueue(Noop(sleepMilliseconds: 300)).id
            #expect(try await database.becomes("exists (select from errand.job where state = 'running')"))
            let session = try await Connection.connect(database.configuration, logger: Logger(label: "errand.test"))
            try await session.execute("begin")
            try await session.execute(Statement("select errand.cancel($1, 'x')", [[held]]))
            // Its attempt finishes while the row is locked. The outcomes of other attempts are written with its own.
            for _ in 0..<60 {
                try await queue.enqueue(Noop())
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try await database.becomes("count(*) = 60 from errand.history where state = 'succeeded'"))
            #expect(try await database.count("from errand.job where state = 'running'") == 1)
            try await session.execute(Statement(end))
            await session.close()
            #expect(try await database.drains())
            let state = try await database.word("select state from errand.history where id = \(held)")
            #expect(state == (end == "commit" ? "cancelled" : "succeeded"))
        }
    }

    @Test("a handler's own transaction waits for a session that has its job locked, and commits afterwards")
    func transaction() async throws {
        try await withTestDatabase { database, configuration in
            try await Queue(database: database).enqueue(Noop())
            let worker = try await ManualWorker(database)
            let job = try #require(try await worker.claim(1).first)
            let session = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
            try await session.execute("begin")
            try await session.execute("select from errand.job for update")
            let commit = Completion.succeeded(job).commitStatement
            #expect(try await database.query(commit).scalar(String.self) == "locked")
            try await session.execute("rollback")
            await session.close()
            #expect(try await database.query(commit).scalar(String.self) == "completed")
            #expect(try await database.query(commit).scalar(String.self) == "revoked")
        }
    }

    @Test("health names the session that has held rows of the queue for long")
    func health() async throws {
        try await withTestDatabase { database, configuration in
            try await Queue(database: database).enqueue(Noop())
            let session = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
            try await session.execute("begin")
            try await session.execute("select errand.cancel('{1}', 'x')")
            let pid = try await session.query("select pg_backend_pid()").scalar(Int32.self)
            let holders =
                "select pid, who = session_user as ours from errand_internal.lock_holders('0 s') where objects ~ 'job'"
            #expect(try await database.text(holders) == "\(pid)|true")
            #expect(try await database.text("select ok from errand.health() where check_name = 'locks'") == "true")
            try await session.execute("rollback")
            await session.close()
            #expect(try await database.text(holders) == "")
        }
    }

    @Test("no role without a right to Errand's tables can block its maintenance tasks")
    func rights() async throws {
        try await withTestDatabase { database, _ in
            for lock in ["crashed", "schedule", "statistics", "partitions", "limits", "claims"] {
                for role in ["errand_ops", "errand_worker", "errand_enqueuer", "errand_monitor"] {
                    for mode in ["access share", "share update exclusive"] {
                        let refused = try await database.refusal(
                            of: "lock table errand.\(lock)_lock in \(mode) mode", as: role)
                        #expect(refused == "42501", "\(lock) \(role)")
                    }
                }
            }
        }
    }
}
