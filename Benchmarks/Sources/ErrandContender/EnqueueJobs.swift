import ArgumentParser
import Errand

struct EnqueueJobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enqueue", abstract: "Enqueue in bulk.")

    @OptionGroup var target: Target

    @Option(help: "How many jobs.")
    var jobs: Int

    @Option(help: "Jobs in a call; all by default.")
    var batch: Int?

    func validate() throws {
        guard jobs > 0 else { throw ValidationError("--jobs: expected at least 1, got \(jobs)") }
        guard batch ?? 1 > 0 else { throw ValidationError("--batch: expected at least 1, got \(batch ?? 0)") }
    }

    func run() async throws {
        let database = try target.database()
        _ = try await database.query("select 1")
        let (job, calls) = (BenchJob(), batch ?? jobs)
        let start = ContinuousClock.now
        for first in stride(from: 0, to: jobs, by: calls) {
            let count = min(calls, jobs - first)
            if target.variant == .bare {
                try await database.withConnection { try await Bare.copy(count, of: job, into: $0) }
            } else {
                try await Queue(database: database).enqueue(all: Array(repeating: job, count: count))
            }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        say(#"{"seconds": \#(seconds)}"#)
        await database.close()
    }
}
