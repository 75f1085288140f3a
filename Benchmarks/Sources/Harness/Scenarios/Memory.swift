import Benchmark

/// What one worker process holds in memory after its first and after its last portion of jobs.
struct Memory: Scenario {
    let portions: Int
    let portion: Int
    let name = "memory"
    let about = "a worker's memory after its first and after its last portion of jobs"
    let peers = Peers.leading
    let isRepeated = false
    var seconds: Double { Double(portions * portion) / 15_000 }

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        let jobs = arena.jobs(portion, for: contender)
        return try await arena.withDatabase(for: contender) { place in
            try await Crew.with(1, of: contender, on: place.url) { crew in
                var memory: [Values] = []
                for portion in 1...portions {
                    let start = ContinuousClock.now
                    _ = try await contender.enqueue(jobs, on: place.url)
                    let draining = Draining(contender: contender, cluster: arena.cluster, place: place)
                    _ = try await draining.end(of: jobs * portion, in: crew, since: start)
                    memory.append(crew.memory)
                }
                return ["/first": memory[0], "/last": memory[memory.count - 1]]
            }
        }
    }
}
