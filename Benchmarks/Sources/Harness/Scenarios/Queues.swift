import Benchmark
import Errand

/// One worker of many queues: its connections, its memory, what it works off, and how soon a lone job starts.
struct Queues: Scenario {
    let counts: [Int]
    let name = "queues"
    let about =
        "one worker of so many queues: all of them drained, then 20 jobs a second, one after the other"
    let peers = Peers.none
    let seconds = 30.0
    /// Of the jobs that come one by one.
    private let duration = 8.0

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        var parts: [String: Values] = [:]
        for count in counts { parts["/\(count)"] = try await run(contender, queues: count, in: context) }
        return parts
    }

    private func run(_ contender: Contender, queues: Int, in context: RunContext) async throws -> Values {
        let spread = ["--queues", "\(queues)"]
        return try await context.withDatabase(for: contender) { runDatabase in
            let jobs = 100_000
            _ = try await contender.enqueue(jobs, spread, on: runDatabase.url)
            try await runDatabase.database.execute("vacuum analyze")
            try await context.cluster.checkpoint()
            let draining = Draining(
                contender: contender, cluster: context.cluster, runDatabase: runDatabase, arguments: spread)
            let drained = try await draining.run(jobs)

            let others = try await context.cluster.connections(to: runDatabase.name)
            return try await WorkerGroup.with(
                1, of: contender, on: runDatabase.url, arguments: spread + ["--latencies"]
            ) { crew in
                let produced = try await contender.produce(seconds: duration, rate: 20, spread, on: runDatabase.url)
                try await crew.waitUntil(ran: produced.jobs, atMost: .seconds(20))
                try await Task.sleep(for: .milliseconds(250))
                var values = drained.merging(crew.latencies.values) { $1 }
                values[.connections] = try await context.cluster.connections(to: runDatabase.name) - others
                return values
            }
        }
    }
}
