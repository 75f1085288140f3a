import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Maintenance of many workers") struct FleetTests {
    /// Enters three workers that do maintenance, but only by name: heartbeats come for as long as they are in the
    /// table, and nothing else.
    private func enterOlder(_ database: Database) async throws {
        for _ in 1...MaintenanceElection.workers {
            try await database.execute(
                """
                select errand_internal.register_worker_v1('older', '1', '1 hour', '{other}', '[]', maintains => true)
                """)
        }
    }

    private func withYounger(_ body: (Database, Queue) async throws -> Void) async throws {
        try await withTestDatabase { database, _ in
            try await enterOlder(database)
            var configuration = WorkerConfiguration()
            configuration.heartbeatInterval = .milliseconds(500)
            let worker = Worker(
                database: database, configuration: configuration, logger: Logger(label: "worker"),
                handlers: Handlers([]))
            let running = Task { try await worker.run() }
            #expect(try await database.becomes("exists (select from errand.worker where name <> 'older')"))
            try await body(database, Queue(database: database))
            worker.stop()
            try await running.value
        }
    }

    @Test("a heartbeat and a registration count live workers with maintenance, older ones and younger ones")
    func counts() async throws {
        try await withTestDatabase { database, _ in
            try await enterOlder(database)
            let third = "select errand_internal.heartbeat_v1('{3}', 0, '{}', null)"
            let register = """
                select maintainers
                from errand_internal.register_worker_v1('w', '1', '1 min', '{other}', '[]', maintains => $1)
                """
            #expect(try await database.query(Statement(register, [false])).scalar(Int.self) == 3)
            #expect(try await database.query(Statement(register, [true])).scalar(Int.self) == 3)
            let count = { (id: Int64) in
                try await database.query(
                    Statement(
                        "select older, younger from errand_internal.heartbeat_v1(array[$1::int8], 0, '{}', null)", [id])
                )[0].decode(Int.self, Int.self)
            }
            try await database.execute(Statement(third))
            #expect(try await count(2) == (1, 2))
            // Half its lease after a heartbeat a worker counts no more.
            try await database.execute(
                "update errand.worker set heartbeat_at = now() - interval '31 minutes' where id = 1")
            #expect(try await count(2) == (0, 2))
            #expect(try await count(5) == (2, 0))
        }
    }

    @Test("a worker beside three older ones makes none of their calls, and takes over when they are gone")
    func takesOver() async throws {
        try await withYounger { database, _ in
            try await Task.sleep(for: .seconds(1))
            #expect(try await database.count("from errand.maintenance_task") == 0)
            try await database.execute("delete from errand.worker where name = 'older'")
            // All tasks go on at once: this one is the first on record.
            #expect(try await database.becomes("exists (select from errand.maintenance_task where name = 'rescue')"))
        }
    }

    @Test("due jobs that the older workers don't promote start soon after, long before they count as lost")
    func overdue() async throws {
        try await withYounger { database, queue in
            // It promotes every 5 s by itself, which may come in time for one of these.
            for second in 1...3 { try await queue.enqueue(Noop(), .after(.seconds(second))) }
            #expect(try await database.drains())
            let late = "max(started_at - run_at) < interval '20 seconds' from errand.history"
            #expect(try await database.query(Statement("select \(late)")).scalar(Bool.self))
            // The worker that takes over does all tasks: this one is the first on record.
            let done = "exists (select from errand.maintenance_task where name = 'rescue')"
            #expect(try await database.becomes(done))
            #expect(try await database.count("from errand.worker where name = 'older'") == 3)
        }
    }

    @Test("one of many programs prunes: another one does nothing for a while, unless it has more to do itself")
    func prunes() async throws {
        try await withTestDatabase { database, _ in
            let prune = "select errand_internal.prune(at_least => '50 minutes')"
            #expect(try await database.query(Statement(prune)).scalar(Int?.self) == 0)
            #expect(try await database.query(Statement(prune)).scalar(Int?.self) == nil)
            #expect(try await database.query("select errand_internal.prune()").scalar(Int?.self) == 0)
            try await database.execute(
                "update errand.maintenance_task set done_at = done_at - interval '51 minutes' where name = 'prune'")
            #expect(try await database.query(Statement(prune)).scalar(Int?.self) == 0)
        }
    }
}
