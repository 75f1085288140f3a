import ArgumentParser
import Errand

struct EnqueueJobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enqueue", abstract: "Enqueue in bulk.")

    @OptionGroup var target: Target

    @Option(help: "How many jobs.")
    var jobs: Int

    @Option(help: "Jobs in a call; all by default.")
    var batch: Int?

    @Option(help: "Bytes of each payload.")
    var bytes = BenchJob.usualBytes

    @Option(help: "Queues that the jobs are spread over; that of the kind by default.")
    var queues: Int?

    @Flag(help: "By errand.enqueue_many, as who has only SQL.")
    var sql = false

    @Flag(help: "With --sql: as jobs that their login follows.")
    var follow = false

    func validate() throws {
        guard jobs > 0 else { throw ValidationError("--jobs: expected at least 1, got \(jobs)") }
        guard batch ?? 1 > 0 else { throw ValidationError("--batch: expected at least 1, got \(batch ?? 0)") }
        guard bytes >= 10 else { throw ValidationError("--bytes: expected at least 10, got \(bytes)") }
        guard queues ?? 1 > 0 else { throw ValidationError("--queues: expected at least 1, got \(queues ?? 0)") }
        guard target.variant != .bare || queues == nil && !sql else {
            throw ValidationError("--queues and --sql: expected a variant with functions, got bare")
        }
    }

    func run() async throws {
        let database = try target.database()
        _ = try await database.query("select 1")
        let job = BenchJob(bytes: bytes)
        let calls = try calls(of: job)
        let start = ContinuousClock.now
        for call in calls { try await enqueue(call, of: job, on: database) }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        say(#"{"seconds": \#(seconds)}"#)
        await database.close()
    }

    private struct Call {
        var count: Int
        var queue: String?
        /// The argument of errand.enqueue_many.
        var json: JSONB?
    }

    /// Made before the clock runs: text that a client of SQL would have anyway.
    private func calls(of job: BenchJob) throws -> [Call] {
        let size = batch ?? (queues.map { (jobs + $0 - 1) / $0 } ?? jobs)
        return try stride(from: 0, to: jobs, by: size).enumerated().map { index, first in
            let count = min(size, jobs - first)
            let queue = queues.map { Target.queueName(index % $0) }
            let elements =
                sql ? Array(repeating: Element(payload: job, queue: queue, follow: follow), count: count) : []
            return Call(count: count, queue: queue, json: sql ? try JSONB(encoding: elements) : nil)
        }
    }

    private struct Element: Encodable {
        var kind = BenchJob.kind.rawValue
        var payload: BenchJob
        var queue: String?
        /// Absent by default: a library of before doesn't know it.
        var follow: Bool?

        init(payload: BenchJob, queue: String?, follow: Bool) {
            (self.payload, self.queue) = (payload, queue)
            self.follow = follow ? true : nil
        }
    }

    private func enqueue(_ call: Call, of job: BenchJob, on database: Database) async throws {
        if let json = call.json {
            _ = try await database.query(Statement("select count(*) from errand.enqueue_many($1)", [json]))
        } else if target.variant == .bare {
            try await database.withConnection { try await Bare.copy(call.count, of: job, into: $0) }
        } else {
            let (queue, jobs) = (Queue(database: database), Array(repeating: job, count: call.count))
            if let name = call.queue {
                try await queue.enqueue(all: jobs, .queue(name))
            } else {
                try await queue.enqueue(all: jobs)
            }
        }
    }
}
