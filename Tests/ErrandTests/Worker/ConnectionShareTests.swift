import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@testable import Errand

@Suite(
    "A worker with fewer connections than it needs",
    .enabled(if: !TestServer.isPooled, "a pooler in transaction mode shares its connections by itself"))
struct ConnectionShareTests {
    @Test("under a login's limit, jobs are promoted, run and completed on shared connections", arguments: 1...4)
    func login(limit: Int) async throws {
        try await withTestDatabase { database, configuration in
            let name = "few_\(UUID().uuidString.prefix(8).lowercased())"
            try await database.execute(
                Statement("create role \(name) login connection limit \(limit) in role errand_worker"))
            let url = try TestServer.url(of: configuration, directly: true, user: name)
            try await expectSharing(on: limit, PostgresConfiguration(url: url), database)
            try await database.execute(Statement("drop role \(name)"))
        }
    }

    @Test("so they are behind a pooler in session mode with a pool of three")
    func pooler() async throws {
        try await withTestDatabase { database, _ in
            let bouncer = try await Bouncer(before: database, mode: "session", poolSize: 3)
            defer { bouncer.stop() }
            try await expectSharing(on: 3, bouncer.configuration, database)
        }
    }

    @Test("a worker whose database grants enough connections shares none")
    func enough() async throws {
        try await withTestDatabase { database, _ in
            let logger = Logger(label: "test")
            let connections = WorkerConnections(to: database, for: WorkerConfiguration(), logger: logger)
            #expect(connections.needed == 5)
            await ConnectionShare(connections: connections, logger: logger).begin()
            #expect(connections.granted == nil)
        }
    }

    /// Has a worker run jobs that use the database, one of which is due later.
    private func expectSharing(
        on granted: Int, _ configuration: PostgresConfiguration, _ database: Database
    ) async throws {
        let few = Database(configuration: configuration, logger: Logger(label: "test"))
        let worker = Worker(
            database: few, configuration: WorkerConfiguration(), logger: Logger(label: "worker"),
            handlers: Handlers([SlowHandler { _ = try await $0.database.query("select 1") }]))
        let running = Task { try await worker.run() }
        let queue = Queue(database: database)
        try await queue.enqueue(all: [Slow](repeating: Slow(), count: 20))
        try await queue.enqueue(Slow(), .after(.milliseconds(200)))
        #expect(try await database.drains())
        #expect(worker.connections.needed == 5 && worker.connections.granted == granted)
        #expect(try await database.count("from errand.history where state = 'succeeded'") == 21)
        running.cancel()
        try await running.value
        await few.close()
    }
}
