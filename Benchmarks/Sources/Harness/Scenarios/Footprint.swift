import Benchmark

/// What a job leaves on the disk, from its bulk enqueue to its end, with no checkpoint between.
struct Footprint: Scenario {
    let name = "footprint"
    let about = "bytes of WAL and of disk a job, enqueued in bulk and worked off"
    let peers = Peers.all
    let baselines: Set<String> = ["c"]
    let isRepeated = false
    let seconds = 5.0

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        let jobs = arena.jobs(arena.isFull ? 200_000 : 50_000, for: contender)
        return try await arena.withDatabase(for: contender) { place in
            let (before, disk) = (try await arena.cluster.written(), try await arena.cluster.bytes(of: place.name))
            _ = try await contender.enqueue(jobs, on: place.url)
            let draining = Draining(contender: contender, cluster: arena.cluster, place: place)
            _ = try await draining.run(jobs)
            let after = try await arena.cluster.written()
            let count = Double(jobs)
            return [
                "": [
                    .log: (after.bytes - before.bytes) / count,
                    .pageImages: (after.pageImages - before.pageImages) / count * 1000,
                    .disk: (try await arena.cluster.bytes(of: place.name) - disk) / count,
                ]
            ]
        }
    }
}
