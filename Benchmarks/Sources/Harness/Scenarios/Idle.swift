import Benchmark
import Errand

/// What one worker costs while there is nothing to do.
struct Idle: Scenario {
    let name = "idle"
    let about = "one worker process and no jobs for 30 s"
    let peers = Peers.leading
    let isRepeated = false
    let seconds = 45.0

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            // Otherwise autovacuum would do this to the new catalogs, and its 35 transactions would be counted.
            try await runDatabase.database.execute("vacuum analyze")
            return try await WorkerGroup.with(1, of: contender, on: runDatabase.url) { crew in
                // By then its start is over, and counted: an idle session reports its transactions after up to 10 s.
                try await Task.sleep(for: .seconds(12))
                let share = try await Share(of: crew, on: context.cluster, runDatabase)
                try await Task.sleep(for: .seconds(30))
                let values = try await share.soFar().merging(crew.memory) { $1 }
                return ["": values]
            }
        }
    }
}

/// How much of a core the workers and the server take from its creation on, and how many transactions they end.
struct Share {
    private let crew: WorkerGroup
    private let cluster: Cluster
    private let runDatabase: RunDatabase
    private let start = ContinuousClock.now
    private let transactions: Double
    private let server: Double
    private let worker: Double

    init(of crew: WorkerGroup, on cluster: Cluster, _ runDatabase: RunDatabase) async throws {
        (self.crew, self.cluster, self.runDatabase) = (crew, cluster, runDatabase)
        transactions = try await cluster.transactions(of: runDatabase.name)
        (server, worker) = (cluster.processorTime, crew.processorTime)
    }

    func soFar() async throws -> Values {
        let microseconds = (ContinuousClock.now - start) / .microseconds(1)
        return [
            .workerShare: (crew.processorTime - worker) / microseconds * 100,
            .serverShare: (cluster.processorTime - server) / microseconds * 100,
            .queries: (try await cluster.transactions(of: runDatabase.name) - transactions) / (microseconds / 1_000_000)
            ,
        ]
    }
}
