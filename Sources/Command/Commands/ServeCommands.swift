import ArgumentParser
import Errand
import Foundation
import Jobs
import Logging
import Postgres
import ServiceLifecycle
import TraceExport
import Web

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run worker, scheduler and web in one process: the small deployment.",
        discussion: """
            DATABASE_URL=postgresql://errand@localhost/app errand run

            SIGTERM or Ctrl-C lets running jobs finish (ERRAND_GRACE) and hands the rest back; another one, a second or \
            more after it, hands all back immediately. `errand config` shows the settings.
            """)

    func run() async throws { try await Serving(isWorker: true, isScheduler: true, isWeb: true).run() }
}

struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Claim and run jobs. Start any number of workers, on any number of hosts.",
        discussion: """
            ERRAND_QUEUES=images=4 errand worker

            Runs jobs of the queues in ERRAND_QUEUES, up to the given number of each. It stops as `errand run` does.
            `errand worker list` shows the workers that are alive.
            """,
        subcommands: [ListWorkers.self, DrainWorker.self, UndrainWorker.self])

    func run() async throws { try await Serving(isWorker: true, isScheduler: false).run() }
}

struct SchedulerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scheduler",
        abstract: "Enqueue the jobs of schedules and do housekeeping. Start any number: each tick happens once.",
        discussion: """
            ERRAND_LOG_FORMAT=json errand scheduler

            Needs only the database. It stops as `errand run` does.
            """)

    func run() async throws { try await Serving(isWorker: false, isScheduler: true).run() }
}

/// A process that runs until it is stopped.
struct Serving {
    let isWorker: Bool
    let isScheduler: Bool
    /// Serves the whole queue's metrics, by default at the default address.
    var isWeb = false

    /// How long ended spans are exported for after the last job, if the collector is slow.
    private static let flushLimit: Duration = .seconds(1)

    func run() async throws {
        let environment = try Environment.load()
        let worker = try isWorker ? workerConfiguration(environment) : nil
        let connections = try environment.settings.value(.connections) { Int($0) }
        let configuration = try environment.database()
        // Metrics and spans come before the services that make them.
        let web = try WebServer(environment, isWeb: isWeb)
        let traces = try environment.traces()
        let apps = try environment.jobApps()
        let jobServices = try isWorker ? JobServices(environment) : nil
        let limit = (worker?.grace ?? .zero) + .seconds(2) + (traces == nil ? .zero : Self.flushLimit)
        let log = ProcessLog(isWeb ? "run" : isWorker ? "worker" : "scheduler", environment)
        try await log.around {
            try await StopSignals.run(within: limit, log: log) {
                let logger = environment.logger
                let database = Database(configuration: configuration, maximumConnections: connections, logger: logger)
                let scheduler =
                    try isScheduler
                    ? Scheduler(database: database, schedules: AllJobs.schedules(of: apps), logger: logger) : nil
                let claiming = worker.flatMap { worker in
                    jobServices.map { jobServices in
                        Worker(
                            database: database, configuration: worker, logger: logger, handlers: jobServices.handlers)
                    }
                }
                // A worker runs its own housekeeping.
                var services: [any Service] = isWorker ? [] : [Housekeeping(database: database, logger: logger)]
                if let scheduler { services.append(scheduler) }
                if let claiming { services.append(claiming) }
                traces?.start()
                let checks =
                    (claiming?.readiness ?? []) + (jobServices?.readiness ?? []) + (scheduler?.readiness ?? [])
                // Serves while the database is awaited, and until the last job is handed back. Then it is cancelled.
                async let _: Void? = web?.serve(checks)
                try await waitUntilReady(environment)
                try await jobServices?.check(logger)
                let group = ServiceGroup(services: services, logger: logger)
                try await withShutdown(of: group) { try await group.run() }
                await jobServices?.stop()
                await traces?.stop(within: Self.flushLimit)
                await database.close()
            }
        }
    }

    func withShutdown(of group: ServiceGroup, _ body: () async throws -> Void) async throws {
        let shutdown = Task {
            await StopSignals.requested()
            await group.triggerGracefulShutdown()
        }
        defer { shutdown.cancel() }
        try await body()
    }

    private func workerConfiguration(_ environment: Environment) throws -> WorkerConfiguration {
        let settings = environment.settings
        var worker = WorkerConfiguration()
        let logger = environment.logger
        worker.onStandstill = { StopSignals.end(becauseOf: $0, logger) }
        worker.queues = try settings.value(.queues, parseQueues)
        worker.claimConnections = try settings.value(.claimConnections) { Int($0) }
        worker.pollInterval = try settings.value(.pollInterval) { Duration(setting: $0) }
        worker.listens = try settings.value(.listen) { Bool($0) }
        worker.lease = try settings.value(.lease) { Duration(setting: $0) }
        let lease = worker.lease
        worker.heartbeatInterval = try settings.value(.heartbeatInterval) { text in
            Duration(setting: text).flatMap { $0 * 3 <= lease ? $0 : nil }
        }
        worker.grace = try settings.value(.grace) { Duration(setting: $0) }
        // A HEIC of 48 megapixels takes 544 MB beside usual photos, and two of them never decode at the same time.
        worker.memory =
            settings.value(.memory) == nil
            ? (512 + 64 * ProcessInfo.processInfo.activeProcessorCount) << 20 : try settings.value(.memory, parseBytes)
        worker.name = "\(ProcessInfo.processInfo.hostName):\(ProcessInfo.processInfo.processIdentifier)"
        worker.version = ErrandCommand.version
        return worker
    }

    /// Waits until the database can be reached, takes writes and is no copy of another.
    ///
    /// - Throws: if waiting would not help: the schema is missing, older or too new, or the user lacks rights.
    private func waitUntilReady(_ environment: Environment) async throws {
        var backoff = Backoff(first: .milliseconds(100), cap: .seconds(2))
        var lines = WaitLines()
        let migrator = try environment.migrator()
        while true {
            try Task.checkCancellation()
            let reason: String
            do {
                let (obstacle, newer) = try await environment.withConnection(needsSchema: false) { connection in
                    try await connection.startObstacle(for: migrator)
                }
                guard let obstacle else {
                    if let newer {
                        environment.logger.notice(
                            "the database is newer than this program, which runs on",
                            metadata: ["migrated_by": "\(newer)"])
                    }
                    return
                }
                reason = "\(obstacle)"
            } catch let error as PostgresError where error.isTransient {
                reason = "\(error)"
            }
            if lines.allow(reason) {
                environment.logger.warning("waiting for the database", metadata: ["reason": "\(reason)"])
            }
            try await Task.sleep(for: backoff.next())
        }
    }
}
