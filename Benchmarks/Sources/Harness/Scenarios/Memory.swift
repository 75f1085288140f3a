import Benchmark

/// What one worker process holds in memory after its first and after its last batch of jobs.
struct Memory: Scenario {
    let batches: Int
    let batch: Int
    let name = "memory"
    let about = "a worker's memory after its first and after its last batch of jobs"
    let peers = Peers.leading
    let isRepeated = false
    var seconds: Double { Double(batches * batch) / 15_000 }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        let jobs = context.jobs(batch, for: contender)
        return try await context.withDatabase(for: contender) { runDatabase in
            try await WorkerGroup.with(1, of: contender, on: runDatabase.url) { crew in
                var memory: [Values] = []
                for batch in 1...batches {
                    let start = ContinuousClock.now
                    _ = try await contender.enqueue(jobs, on: runDatabase.url)
                    let draining = Draining(contender: contender, cluster: context.cluster, runDatabase: runDatabase)
                    _ = try await draining.end(of: jobs * batch, in: crew, since: start)
                    memory.append(crew.memory)
                }
                return ["/first": memory[0], "/last": memory[memory.count - 1]]
            }
        }
    }
}
