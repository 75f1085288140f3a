import Benchmark

/// What one worker costs while there is nothing to do.
struct Idle: Scenario {
    let name = "idle"
    let about = "one worker process and no jobs for 30 s"
    let peers = Peers.leading
    let isRepeated = false
    let seconds = 36.0

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        try await arena.withDatabase(for: contender) { place in
            try await Crew.with(1, of: contender, on: place.url) { crew in
                // Its start is over by then.
                try await Task.sleep(for: .seconds(3))
                let (clock, cluster) = (ContinuousClock(), arena.cluster)
                let start = clock.now
                let before = try await cluster.transactions(of: place.name)
                let (server, worker) = (cluster.processorTime, crew.processorTime)
                try await Task.sleep(for: .seconds(30))
                let microseconds = (clock.now - start) / .microseconds(1)
                var values = crew.memory
                values[.workerShare] = (crew.processorTime - worker) / microseconds * 100
                values[.serverShare] = (cluster.processorTime - server) / microseconds * 100
                values[.queries] =
                    (try await cluster.transactions(of: place.name) - before) / (microseconds / 1_000_000)
                return ["": values]
            }
        }
    }
}
