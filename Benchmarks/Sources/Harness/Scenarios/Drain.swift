import Benchmark
import Errand

/// A queue of jobs, enqueued and vacuumed before, drained by some worker processes.
struct Drain: Scenario {
    let workers: Int
    /// Microseconds of CPU that each job burns in its handler.
    var burns = 0
    /// Of each payload, beyond the usual 100.
    var bytes: Int?
    /// Whether somebody follows the jobs.
    var isFollowed = false
    /// Whether the jobs are posted to a server, which is in the worker's process.
    var isPosted = false
    let peers: Peers

    var name: String {
        if let bytes { return "drain-\(bytes / 1000)k" }
        if isFollowed { return "drain-followed" }
        if isPosted { return "drain-http" }
        return burns > 0 ? "drain-cpu-\(workers)" : "drain-\(workers)"
    }
    var about: String {
        var jobs = burns > 0 ? "jobs of \(burns) us of CPU" : "no-op jobs"
        if let bytes { jobs += " with payloads of \(bytes) bytes" }
        if isFollowed { jobs += " that their login follows" }
        if isPosted { jobs += " posted to an endpoint" }
        return "\(jobs) in the queue, worked off by \(workers) worker process\(workers == 1 ? "" : "es")"
    }
    var baselines: Set<String> { bytes == nil && !isFollowed && !isPosted ? ["c"] : [] }
    var comparesCommits: Bool { !isFollowed && !isPosted }
    var seconds: Double { 7 }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        let most = bytes != nil || isPosted ? 30_000 : burns > 0 ? 10_000 : 200_000
        let jobs = context.jobs(most, for: contender, processorTime: Double(burns))
        return try await context.withDatabase(for: contender) { runDatabase in
            var options = bytes.map { ["--bytes", "\($0)"] } ?? []
            if isFollowed { options += ["--sql", "--follow", "--batch", "10000"] }
            _ = try await contender.enqueue(jobs, options, on: runDatabase.url)
            // As old as a real backlog: statistics are there, and pages are logged whole when they change.
            try await runDatabase.database.execute("vacuum analyze")
            try await context.cluster.checkpoint()
            let draining = Draining(
                contender: contender, cluster: context.cluster, runDatabase: runDatabase, workers: workers,
                arguments: burns > 0 ? ["--handler-us", "\(burns)"] : isPosted ? ["--posts"] : [])
            return ["": try await draining.run(jobs)]
        }
    }
}
