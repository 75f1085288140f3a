import Dispatch
import ErrandTestKit
import Foundation
import Logging
import Postgres
import Synchronization
import Testing
import Waiting

@testable import Errand

@Suite("A worker that hangs") struct StandstillTests {
    // Separate processes: other tests block this process's threads for longer than these leases.
    @Test("a claim loop that is stuck is reported after the lease, though heartbeats go on")
    func stuckLoop() async throws {
        try await withTestDatabase { database, configuration in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 50))
            let url = try TestServer.url(of: configuration)
            await #expect(processExitsWith: .exitCode(71)) { [url = url as String] in
                let database = Database(
                    configuration: try PostgresConfiguration(url: url), maximumConnections: 2,
                    logger: Logger(label: "test"))
                let gate = DispatchSemaphore(value: 0)
                let isStuck = Mutex(false)
                var configuration = WorkerConfiguration.withoutMaintenance
                configuration.lease = .milliseconds(2500)
                configuration.heartbeatInterval = .milliseconds(250)
                // Within the loop: blocks its only thread.
                configuration.onRoundTrip = { _ in
                    guard
                        isStuck.withLock({ isStuck in
                            defer { isStuck = true }; return !isStuck
                        })
                    else { return }
                    gate.wait()
                }
                configuration.onStandstill = {
                    _exit($0.hasPrefix("the claim loop of default has made no progress for ") ? 71 : 72)
                }
                Task {
                    try await Task.sleep(for: .seconds(60)); _exit(73)
                }
                try await Worker(
                    database: database, configuration: configuration, logger: Logger(label: "test"),
                    handlers: Handlers([NoopHandler()])
                ).run()
            }
            let wentOn = "from errand.worker where heartbeat_at - started_at > interval '1 s'"
            #expect(try await database.count(wentOn) == 1)
        }
    }

    @Test("neither a handler that blocks its thread nor a database that is away is a standstill")
    func nothingWrong() async throws {
        try await withTestDatabase { database, configuration in
            try await Queue(database: database).enqueue(Slow())
            let url = try TestServer.url(of: configuration)
            await #expect(processExitsWith: .exitCode(0)) { [url = url as String] in
                let database = Database(
                    configuration: try PostgresConfiguration(url: url), maximumConnections: 2,
                    logger: Logger(label: "test"))
                var configuration = WorkerConfiguration.withoutMaintenance
                configuration.lease = .seconds(2)
                configuration.heartbeatInterval = .milliseconds(500)
                configuration.onStandstill = { _ in _exit(71) }
                let isOver = Signal()
                let worker = Worker(
                    database: database, configuration: configuration, logger: Logger(label: "test"),
                    handlers: Handlers([
                        SlowHandler { _ in
                            StandstillTests.block(for: 2.7)
                            isOver.raise()
                        }
                    ]))
                Task { try await worker.run() }
                await isOver.wait()
                try await database.execute("alter table errand.worker rename to hidden")
                try await Task.sleep(for: .milliseconds(2700))
                try await database.execute("alter table errand.hidden rename to worker")
                _exit(0)
            }
            #expect(try await database.count("from errand.job where attempt = 0") == 0)
        }
    }

    @Test("a process whose handlers block all threads keeps its lease, exits after three, and its jobs are rescued")
    func blockedProcess() async throws {
        try await withTestDatabase { database, configuration in
            try await Queue(database: database).enqueue(all: [Slow](repeating: Slow(), count: 200))
            let url = try TestServer.url(of: configuration)
            await #expect(processExitsWith: .exitCode(71)) { [url = url as String] in
                var configuration = WorkerConfiguration.withoutMaintenance
                configuration.queues = ["default": 200]
                configuration.lease = .seconds(1)
                configuration.heartbeatInterval = .milliseconds(250)
                configuration.onStandstill = { _ in _exit(71) }
                let database = Database(
                    configuration: try PostgresConfiguration(url: url), maximumConnections: 2,
                    logger: Logger(label: "test"))
                try await Worker(
                    database: database, configuration: configuration, logger: Logger(label: "test"),
                    handlers: Handlers([SlowHandler { _ in StandstillTests.block(for: 600) }])
                ).run()
            }
            #expect(try await database.count("from errand.job where state = 'running'") > 0)
            let wentOn = "from errand.worker where heartbeat_at - started_at > interval '2 s'"
            #expect(try await database.count(wentOn) == 1)
            let isBack = "count(*) = 200 from errand.job where state in ('available', 'parked')"
            #expect(
                try await database.becomes(isBack) { try await database.execute("select errand_internal.rescue()") })
        }
    }

    fileprivate static func block(for seconds: Double) { Thread.sleep(forTimeInterval: seconds) }
}
