import ArgumentParser
import Errand
import Foundation
import Logging
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
            more after it, hands all back immediately. SIGHUP and SIGQUIT do so at once. `errand config` shows the \
            settings.
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
        subcommands: [ListWorkers.self, DrainWorker.self, UndrainWorker.self, ReleaseWorker.self])

    func run() async throws { try await Serving(isWorker: true, isScheduler: false).run() }
}

struct SchedulerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scheduler",
        abstract: "Enqueue the jobs of schedules and do maintenance. Start any number: each tick happens once.",
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
        let cells = try environment.cells()
        let isAlone = cells.count == 1
        // Metrics and spans come before the services that make them.
        let web = try WebServer(environment, isWeb: isWeb)
        let api = try isWeb ? APIServer(environment) : nil
        let traces = try environment.traces()
        let jobs = try isWorker ? JobServices(environment) : nil
        let parts = CellService.Parts(
            worker: worker, capacity: isAlone ? nil : worker.map(SharedCapacity.init), jobs: jobs,
            isScheduler: isScheduler)
        let limit = (worker?.grace ?? .zero) + .seconds(2) + (traces == nil ? .zero : Self.flushLimit)
        let manager = ServiceManager(logger: environment.logger)
        let log = ProcessLog(isWeb ? "run" : isWorker ? "worker" : "scheduler", environment)
        try await log.around {
            try await StopSignals.run(within: limit, log: log) {
                let services = try cells.map { try CellService($0, parts, environment) }
                traces?.start()
                let checks = services.flatMap(\.readiness) + (api.map { [$0.readiness(isRequired: false)] } ?? [])
                // Serves while the database is awaited, and until the last job is handed back. Then it is cancelled.
                async let _: Void? = web?.serve(checks)
                async let _: Void? = api?.serve()
                async let _: Void? = manager?.tell(of: checks)
                if isAlone { try await services[0].waitUntilReady() }
                let group = ServiceGroup(
                    services: isAlone ? services[0].services : services, logger: environment.logger)
                try await withShutdown(of: group, telling: manager) { try await group.run() }
                for service in services { await service.stop() }
                await jobs?.stop()
                await traces?.stop(within: Self.flushLimit)
            }
        }
    }

    func withShutdown(
        of group: ServiceGroup, telling manager: ServiceManager? = nil, _ body: () async throws -> Void
    ) async throws {
        let shutdown = Task {
            await StopSignals.requested()
            manager?.tellEnd()
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
        worker.functionConnections = try settings.value(.functionConnections) { Int($0) }
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
        worker.logsErrorTexts = try settings.value(.logErrors) { $0 == "text" }
        worker.version = ErrandCommand.version
        return worker
    }
}
