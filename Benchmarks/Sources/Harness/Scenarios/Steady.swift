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

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        try await arena.withDatabase(for: contender) { place in
            let server = arena.cluster.processorTime
            let jobs = arena.isFull ? jobs * 5 : jobs
            var values = try await arena.errandBench(
                ["--jobs", "\(jobs)", "--batch", "\(batch)", "--skip-idle"], of: contender, on: place.url,
                as: ErrandFigures.self
            ).values
            // With the jobs of its warm-up.
            let all = Double(jobs + min(jobs / 5, 20_000))
            values[.serverCPU] = (arena.cluster.processorTime - server) / all
            return ["": values]
        }
    }
}
