import Benchmark

/// Enqueuers and workers side by side, by `errand bench`.
struct Steady: Scenario {
    let batch: Int
    let jobs: Int
    let peers = Peers.none
    let isRepeated = false
    let seconds = 8.0

    var name: String { "steady-\(batch)" }
    var about: String { "enqueuers and workers side by side, claims and enqueues of \(batch)" }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            let server = context.cluster.processorTime
            let jobs = context.isFull ? jobs * 5 : jobs
            var values = try await context.errandBench(
                ["--jobs", "\(jobs)", "--batch", "\(batch)", "--skip-idle"], of: contender, on: runDatabase.url,
                as: ErrandFigures.self
            ).values
            // With the jobs of its warm-up.
            let all = Double(jobs + min(jobs / 5, 20_000))
            values[.serverCPU] = (context.cluster.processorTime - server) / all
            return ["": values]
        }
    }
}
