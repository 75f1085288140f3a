import Benchmark

/// What a job leaves on the disk, from its bulk enqueue to its end, with no checkpoint between.
struct Footprint: Scenario {
    let name = "footprint"
    let about = "bytes of WAL and of disk a job, enqueued in bulk and worked off"
    let peers = Peers.all
    let baselines: Set<String> = ["c"]
    let isRepeated = false
    let seconds = 5.0

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        let jobs = context.jobs(context.isFull ? 200_000 : 50_000, for: contender)
        return try await context.withDatabase(for: contender) { runDatabase in
            let (before, disk) = (
                try await context.cluster.written(), try await context.cluster.bytes(of: runDatabase.name)
            )
            _ = try await contender.enqueue(jobs, on: runDatabase.url)
            let draining = Draining(contender: contender, cluster: context.cluster, runDatabase: runDatabase)
            _ = try await draining.run(jobs)
            let after = try await context.cluster.written()
            let count = Double(jobs)
            return [
                "": [
                    .log: (after.bytes - before.bytes) / count,
                    .pageImages: (after.pageImages - before.pageImages) / count * 1000,
                    .disk: (try await context.cluster.bytes(of: runDatabase.name) - disk) / count,
                ]
            ]
        }
    }
}
