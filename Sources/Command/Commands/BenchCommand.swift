import ArgumentParser
import Foundation
import Logging

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Load the queue and measure it, on a dedicated database.",
        discussion: """
            First single jobs on an idle worker, by wake-up and by polling. Then two enqueuers and --workers workers
            side by side in this process, no-op jobs with 100 bytes of payload. It refuses a database that has other jobs:

              createdb bench && DATABASE_URL=postgresql:///bench sh -c 'errand migrate && errand bench'
            """)

    @Option(help: "How many jobs are timed.")
    var jobs = 100_000

    @Option(help: "Most jobs in one claim and in one enqueue, 1 to 1000.")
    var batch = 100

    @Option(help: "Workers, each with two connections for claims while the queue has a backlog.")
    var workers = 1

    @Option(help: "Also run this many seconds without and as many with a held REPEATABLE READ snapshot.")
    var pinned: Int?

    @Option(help: "Jobs to enqueue per second. Default: as many as the workers complete.")
    var rate: Int?

    @Flag(help: "Skip the idle worker, which takes 25 s.")
    var skipIdle = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard jobs > 0 else { throw ValidationError("--jobs: expected at least 1, got \(jobs)") }
        guard (1...1000).contains(batch) else { throw ValidationError("--batch: expected 1 to 1000, got \(batch)") }
        guard (1...64).contains(workers) else { throw ValidationError("--workers: expected 1 to 64, got \(workers)") }
        guard pinned.map({ $0 > 0 }) ?? true else { throw ValidationError("--pinned: expected at least 1 second") }
        guard rate.map({ $0 > 0 }) ?? true else { throw ValidationError("--rate: expected at least 1 job a second") }
    }

    func run() async throws {
        let environment = try Environment.load()
        var logger = environment.logger
        logger.logLevel = max(logger.logLevel, .warning)
        let plan = Bench.Plan(
            jobs: jobs, batch: batch, workers: workers, rate: rate, pinned: pinned.map { .seconds($0) },
            measuresIdle: !skipIdle)
        // On the schema of another version every claim would be refused, and the benchmark would wait for ever.
        try await environment.withConnection { _ in }
        let bench = Bench(configuration: try environment.database(), plan: plan, logger: logger)
        let report = try await bench.run { line in
            writeError(line)
        }
        print(try json ? Command.json(report) : report.description)
    }
}
