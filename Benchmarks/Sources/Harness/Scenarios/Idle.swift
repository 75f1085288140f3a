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
                let share = try await Share(of: crew, on: arena.cluster, place)
                try await Task.sleep(for: .seconds(30))
                let values = try await share.soFar().merging(crew.memory) { $1 }
                return ["": values]
            }
        }
    }
}

/// How much of a core the workers and the server take from its creation on, and how many transactions they end.
struct Share {
    private let crew: Crew
    private let cluster: Cluster
    private let place: Place
    private let start = ContinuousClock.now
    private let transactions: Double
    private let server: Double
    private let worker: Double

    init(of crew: Crew, on cluster: Cluster, _ place: Place) async throws {
        (self.crew, self.cluster, self.place) = (crew, cluster, place)
        transactions = try await cluster.transactions(of: place.name)
        (server, worker) = (cluster.processorTime, crew.processorTime)
    }

    func soFar() async throws -> Values {
        let microseconds = (ContinuousClock.now - start) / .microseconds(1)
        return [
            .workerShare: (crew.processorTime - worker) / microseconds * 100,
            .serverShare: (cluster.processorTime - server) / microseconds * 100,
            .queries: (try await cluster.transactions(of: place.name) - transactions) / (microseconds / 1_000_000),
        ]
    }
}
