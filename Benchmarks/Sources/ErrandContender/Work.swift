import ArgumentParser
import Errand
import Foundation
import ServiceLifecycle
import Synchronization
import UnixSignals

struct Work: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run one worker until SIGTERM.")

    @OptionGroup var target: Target

    @Option(help: "Microseconds of CPU that each job burns.")
    var handlerUs = 0

    @Flag(help: "Print for each job that carries its time how long it took to its start.")
    var latencies = false

    @Option(help: "Take jobs from this queue, and so none of those of the bench.")
    var queue: String?

    @Option(help: "Take jobs from so many queues, as `enqueue --queues` names them.")
    var queues: Int?

    @Flag(help: "Post the jobs to a server in this process, instead of running them.")
    var posts = false

    func run() async throws {
        let database = try target.database(connections: 8)
        let record = Record(keepsLatencies: latencies)
        var configuration = WorkerConfiguration()
        if posts {
            configuration.endpoints = try await EndpointStub(for: BenchJob.kind, on: database) {
                record.began(enqueuedAt: nil)
            }.caller
        }
        configuration.name = "bench:\(ProcessInfo.processInfo.processIdentifier)"
        let slots = configuration.queues["default"] ?? 1
        if let queue { configuration.queues = [queue: slots] }
        if let queues {
            let names = (0..<queues).map(Target.queueName)
            configuration.queues = Dictionary(uniqueKeysWithValues: names.map { ($0, slots) })
        }
        let worker = Worker(database: database, configuration: configuration, logger: Target.logger) {
            BenchHandler(record: record, burns: handlerUs)
        }
        let telling = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(100))
                record.tell()
            }
        }
        let watching = Task { [name = configuration.name] in try await sayReady(of: name, on: database) }
        try await ServiceGroup(
            services: [worker], gracefulShutdownSignals: [.sigterm, .sigint], logger: Target.logger
        ).run()
        watching.cancel()
        telling.cancel()
        record.tell()
        await database.close()
    }

    /// Says `ready` once the worker holds a lease: from then on it claims.
    private func sayReady(of name: String, on database: Database) async throws {
        let query = Statement("select exists (select from errand.workers where name = $1)", [name])
        while try await !database.query(query).scalar(Bool.self) { try await Task.sleep(for: .milliseconds(5)) }
        say("ready")
    }
}

/// What the handlers have seen so far.
final class Record: Sendable {
    private struct State {
        var isTold = 0
        var latencies: [Int] = []
    }

    private let began = Atomic(0)
    private let state = Mutex(State())
    private let keepsLatencies: Bool

    init(keepsLatencies: Bool) { self.keepsLatencies = keepsLatencies }

    /// - Parameter enqueuedAt: microseconds since 1970.
    func began(enqueuedAt: Int?) {
        if keepsLatencies, let enqueuedAt {
            let latency = microsecondsNow() - enqueuedAt
            state.withLock { $0.latencies.append(latency) }
        }
        if began.add(1, ordering: .relaxed).oldValue == 0 { say("first") }
    }

    /// Prints what is new.
    func tell() {
        let count = began.load(ordering: .relaxed)
        let lines = state.withLock { state in
            var lines = state.latencies.map { "us \($0)" }
            if count != state.isTold { lines.append("ran \(count)") }
            state.latencies.removeAll(keepingCapacity: true)
            state.isTold = count
            return lines
        }
        if !lines.isEmpty { say(lines.joined(separator: "\n")) }
    }
}
