import ErrandTestKit
import Logging
import Testing

@testable import Errand

@Suite("A worker's maintenance") struct WorkerMaintenanceTests {
    @Test("a worker alone retries a failed job and deletes an old one")
    func alone() async throws {
        let handler = ProbeHandler { _, context in
            guard context.attempt > 1 else { throw WorkerTests.Broken(text: "the first attempt") }
            return .done
        }
        try await withWorker(WorkerConfiguration(), [handler]) { database in
            let id = try await Queue(database: database).enqueue(Probe(), .maxAttempts(2)).id
            let isDone = "exists (select from errand.history where id = \(id) and state = 'succeeded' and attempt = 2)"
            #expect(try await database.becomes(isDone))
            #expect(try await database.becomes("not exists (select from errand.history where kind = 'old')"))
        }
    }

    @Test("without it nothing is deleted, and no statistics are refreshed")
    func off() async throws {
        try await withWorker(.withoutMaintenance, []) { database in
            try await Queue(database: database).enqueue(Noop())
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where kind = 'old'") == 1)
            #expect(try await database.count("from errand.maintenance_status") == 0)
        }
    }

    @Test("four workers that start on a schema without partitions make them, and log no warning")
    func atOnce() async throws {
        try await withTestDatabase { database, _ in
            let parts: Statement =
                "select relname::text from pg_class where relkind = 'r' and relname ~ '^(history|payload)_\\d{8}$'"
            for name in try await database.query(parts).column(0, as: String.self) {
                try await database.execute(Statement("drop table errand.\(name)"))
            }
            let log = CapturedLog()
            // A worker that listens warns behind a transaction pooler.
            var configuration = WorkerConfiguration()
            configuration.listens = false
            let workers = (0..<4).map { _ in
                Worker(
                    database: database, configuration: configuration, logger: Logger(label: "test") { _ in log },
                    handlers: Handlers([]))
            }
            try await withThrowingTaskGroup { group in
                for worker in workers { group.addTask { try await worker.run() } }
                let isMade = "count(*) = 8 from pg_class where relkind = 'r' and relname ~ '^(history|payload)_\\d{8}$'"
                #expect(try await database.becomes(isMade))
                for worker in workers { worker.stop() }
                try await group.waitForAll()
            }
            #expect(log.lines.atLeast(.warning).map(\.message) == [])
        }
    }

    /// Runs a worker on a database with a job that finished nine days ago.
    private func withWorker(
        _ configuration: WorkerConfiguration, _ handlers: [any JobHandler], _ body: (Database) async throws -> Void
    ) async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.history (
                    id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, state, queue, kind, payload)
                values (
                    0, now() - interval '9 days', now() - interval '9 days', now() - interval '9 days', 2, 1, 1, 0,
                    'succeeded', 'default', 'old', '{}')
                """)
            let worker = Worker(
                database: database, configuration: configuration, logger: Logger(label: "test"),
                handlers: Handlers(handlers))
            let running = Task { try await worker.run() }
            try await body(database)
            worker.stop()
            try await running.value
        }
    }
}
