import Benchmark

/// Jobs enqueued one per transaction, as fast as the clients can.
struct Enqueue: Scenario {
    let name: String
    let about: String
    var clients = 1
    /// Worker processes beside them.
    var workers = 0
    var workerArguments: [String] = []
    var isTransactional = false
    var peers = Peers.leading
    var baselines: Set<String> = []
    var seconds: Double { 4 }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            let written = try await context.cluster.written()
            let (produced, server, worker) = try await WorkerGroup.with(
                workers, of: contender, on: runDatabase.url, arguments: workerArguments
            ) { crew in
                let (server, worker) = (context.cluster.processorTime, crew.processorTime)
                let produced = try await contender.produce(
                    clients: clients, seconds: context.isFull ? 20 : 2, isTransactional: isTransactional,
                    on: runDatabase.url)
                return (produced, context.cluster.processorTime - server, crew.processorTime - worker)
            }
            let after = try await context.cluster.written()
            let jobs = Double(max(produced.jobs, 1))
            var values = Latencies(microseconds: produced.latency_us).values
            values[.rate] = jobs / produced.seconds
            values[.serverCPU] = server / jobs
            if workers > 0 { values[.workerCPU] = worker / jobs }
            values[.log] = (after.bytes - written.bytes) / jobs
            values[.pageImages] = (after.pageImages - written.pageImages) / jobs * 1000
            return ["": values]
        }
    }
}

/// Many jobs in one call, by each contender's fastest documented way.
struct EnqueueBulk: Scenario {
    let name = "enqueue-bulk"
    let about = "many jobs in one call, by the fastest documented way"
    let peers = Peers.all
    let baselines: Set<String> = ["bare", "c"]
    let seconds = 4.0

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        let jobs = Field.own.contains(contender.name) ? 200_000 : context.jobs(30_000, for: contender)
        return try await context.withDatabase(for: contender) { runDatabase in
            ["": try await context.cost(of: jobs, by: contender, [], on: runDatabase.url)]
        }
    }
}

/// Many jobs in calls of errand.enqueue_many, as who has only SQL enqueues them.
struct EnqueueMany: Scenario {
    let batch: Int
    let peers = Peers.none
    let seconds = 8.0

    var name: String { "enqueue-many-\(batch)" }
    var about: String { "many jobs by errand.enqueue_many, \(batch) in a call" }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            let options = ["--sql", "--batch", "\(batch)"]
            return ["": try await context.cost(of: 100_000, by: contender, options, on: runDatabase.url)]
        }
    }
}

extension RunContext {
    /// What it costs to enqueue so many jobs.
    fileprivate func cost(
        of jobs: Int, by contender: Contender, _ options: [String], on url: String
    ) async throws -> Values {
        let (written, server) = (try await cluster.written(), cluster.processorTime)
        let seconds = try await contender.enqueue(jobs, options, on: url)
        let cost = cluster.processorTime - server
        let after = try await cluster.written()
        return [
            .rate: Double(jobs) / seconds, .serverCPU: cost / Double(jobs),
            .log: (after.bytes - written.bytes) / Double(jobs),
            .pageImages: (after.pageImages - written.pageImages) / Double(jobs) * 1000,
        ]
    }
}
