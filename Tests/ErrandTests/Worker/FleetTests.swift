import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Maintenance of many workers") struct FleetTests {
    /// Enters three workers that do maintenance, but only by name: heartbeats come for as long as they are in the
    /// table, and nothing else.
    private func enterOlder(_ database: Database) async throws {
        for _ in 1...3 {
            try await database.execute(
                "select errand_internal.register_worker_v1('older', '1', '1 hour', '{other}', '[]', maintains => true)")
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

    @Test("a heartbeat and a registration say how long a worker pauses beside three older ones that do maintenance")
    func pauses() async throws {
        try await withTestDatabase { database, _ in
            try await enterOlder(database)
            let register = """
                select maintenance_pause / 1000
                from errand_internal.register_worker_v1('w', '1', '1 min', '{other}', '[]', maintains => $1)
                """
            #expect(try await database.query(Statement(register, [false])).scalar(Int64.self) == 5000)
            #expect(try await database.query(Statement(register, [true])).scalar(Int64.self) == 5000)
            let pause = { (id: Int64) in
                try await database.query(
                    Statement(
                        """
                        select maintenance_pause / 1000
                        from errand_internal.heartbeat_v1(array[$1::int8], 0, '{}', null)
                        """, [id])
                ).scalar(Int64.self)
            }
            #expect(try await pause(3) == 0)
            #expect(try await pause(5) == 5000)
            // Half its lease after a heartbeat a worker counts no more.
            try await database.execute(
                "update errand.worker set heartbeat_at = now() - interval '31 minutes' where id = 1")
            #expect(try await pause(5) == 0)
            let many = "select errand_internal.maintenance_pause(100, 99) / 1000"
            #expect(try await database.query(Statement(many)).scalar(Int64.self) == 50_000)
        }
    }

    @Test("all tasks go on within seconds when the older workers make no calls, or are gone")
    func takesOver() async throws {
        try await withYounger { database, queue in
            try await queue.enqueue(Noop(), .after(.seconds(2)))
            #expect(try await database.drains())
            let late = "max(started_at - run_at) < interval '10 seconds' from errand.history"
            #expect(try await database.query(Statement("select \(late)")).scalar(Bool.self))
            let done = "(select count(*) from errand.maintenance_task where is_long and done_at is not null) >= 3"
            #expect(try await database.becomes(done))
            #expect(try await database.count("from errand.worker where name = 'older'") == 3)
            try await database.execute("delete from errand.worker where name = 'older'")
            try await queue.enqueue(Noop(), .after(.seconds(1)))
            #expect(try await database.drains())
        }
    }
}
