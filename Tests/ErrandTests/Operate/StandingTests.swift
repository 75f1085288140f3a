import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("What stands still though nothing keeps it back") struct StandingTests {
    private static let late = "select what, name from errand.overdue order by what, name"

    private func expectOverdue(_ rows: String, _ database: Database) async throws {
        #expect(try await database.text(Self.late) == rows)
        let count = rows.isEmpty ? 0 : rows.split(separator: "\n").count
        let metric = "select value from errand.metrics() where name = 'errand_overdue'"
        #expect(try await database.text(metric) == "\(count)")
        let health = "select ok from errand.health() where check_name = 'overdue'"
        #expect(try await database.text(health) == (rows.isEmpty ? "true" : "false"))
    }

    @Test("a queue with idle slots that starts nothing for a minute is late, unless a record says what keeps jobs back")
    func queue() async throws {
        try await withTestDatabase { database, _ in
            let kinds = #"[{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2}]"#
            let worker = try await database.query(
                Statement(
                    """
                    select worker_id
                    from errand_internal.register_worker_v1(
                        'hand', '1', '1 hour', '{default,other}', $1, slots => 3, queue_slots => '{2,1}')
                    """, [JSONB(kinds)])
            ).scalar(Int64.self)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 3)")
            try await database.execute("update errand.job set run_at = now() - interval '61 s'")
            try await expectOverdue("", database)
            try await database.execute("update errand.worker set started_at = now() - interval '61 s'")
            try await expectOverdue("queue|default", database)
            let overdue = "select regexp_replace(detail, '[0-9]+ s', 'some time'), hint from errand.overdue"
            #expect(
                try await database.text(overdue)
                    == "its oldest job has been due for some time, and nothing keeps it back: its workers have idle slots|"
                    + "the logs of its workers say why they can't claim; restart one")
            let running = """
                update errand.job
                set state = 'running', worker_id = \(worker), started_at = now() - interval '10 minutes'
                """
            let claimed = "insert into errand.claim (worker_id, claimed_at, generation, job_ids) select \(worker)"
            for (reason, statements) in [
                ("paused", ["select errand.pause_queue('default', 'a test')"]),
                ("drained", ["select errand.drain_worker(\(worker), 'a test')"]),
                ("its worker is lost", ["update errand.worker set heartbeat_at = now() - interval '2 hours'"]),
                ("it shares its slots", ["update errand.worker set queue_slots = null"]),
                (
                    "its rate is used up",
                    [
                        "select errand.set_rate('default', '1 hour', 1)",
                        "insert into errand.rate_log select 'default', array[now()], array[now()], '{1}'",
                    ]
                ),
                (
                    "its slots are busy",
                    [
                        "\(running) where id in (1, 2)",
                        "\(claimed), now() - interval '10 minutes', 0, '{1,2}'",
                    ]
                ),
                ("one has just started", ["\(running) where id = 1", "\(claimed), now(), 0, '{1}'"]),
                (
                    "one runs alone",
                    [
                        "\(running), crashes = 2 where id = 1",
                        "\(claimed), now() - interval '10 minutes', 0, '{1}'",
                    ]
                ),
                (
                    "one has ended",
                    [
                        """
                        insert into errand.finished_per_minute (
                            minute, worker_id, jobs, wait_ms, run_ms, queue, kind, outcome)
                        values (date_trunc('minute', now()), \(worker), 1, 1, 1, 'default', 'noop', 'succeeded')
                        """
                    ]
                ),
            ] {
                try await database.transaction { transaction in
                    for statement in statements { try await transaction.execute(Statement(statement)) }
                    let found = try await transaction.query(Statement(Self.late)).count
                    #expect(found == 0, "\(reason)")
                    try await transaction.execute("rollback and chain")
                }
            }
            // A long job in one of two slots is no reason.
            try await database.execute(Statement("\(running) where id = 1"))
            try await database.execute(Statement("\(claimed), now() - interval '10 minutes', 0, '{1}'"))
            try await expectOverdue("queue|default", database)
        }
    }

    @Test("a limit that has room and releases no parked job for 10 s is late, unless the jobs' queues are paused")
    func limit() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('tenant/1', 1)")
            try await database.execute(
                "select errand.enqueue('noop', limit_key => 'tenant/1') from generate_series(1, 2)")
            let worker = try await ManualWorker(database)
            let held = try await worker.claim(2)
            #expect(held.count == 1)
            let age = """
                update errand.limit_slot set admitted_at = admitted_at - interval '11 s';
                update errand.limit_mark set marked_at = marked_at - interval '11 s';
                update errand.job set run_at = run_at - interval '11 s' where state = 'parked';
                """
            for statement in age.split(separator: ";\n") { try await database.execute(Statement(String(statement))) }
            try await expectOverdue("", database)
            // Without the release that follows in the same transaction.
            let ended = held.map { Completion.succeeded($0) }
            _ = try await database.pipeline(Completion.statements(for: ended))
            try await expectOverdue("", database)
            try await database.execute("delete from errand.history")
            try await expectOverdue("limit|tenant/1", database)
            let detail = "select detail ~ '^it has room, and no job that waits for it' from errand.overdue"
            #expect(try await database.text(detail) == "true")
            try await database.execute("select errand.pause_queue('default', 'a test')")
            try await expectOverdue("", database)
            try await database.execute("select errand.resume_queue('default')")
            try await expectOverdue("limit|tenant/1", database)
            try await database.execute("select errand_internal.release_parked()")
            try await expectOverdue("", database)
        }
    }
}
