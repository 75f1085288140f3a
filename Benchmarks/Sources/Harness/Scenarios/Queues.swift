import Benchmark
import Errand

/// One worker of many queues: its connections, its memory, what it works off, and how soon a lone job starts.
struct Queues: Scenario {
    let counts: [Int]
    let name = "queues"
    let about =
        "one worker of so many queues: a line in all of them worked off, then 20 jobs a second, one after the other"
    let peers = Peers.none
    let seconds = 30.0
    /// Of the jobs that come one by one.
    private let duration = 8.0

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        var parts: [String: Values] = [:]
        for count in counts { parts["/\(count)"] = try await run(contender, queues: count, in: arena) }
        return parts
    }

    private func run(_ contender: Contender, queues: Int, in arena: Arena) async throws -> Values {
        let spread = ["--queues", "\(queues)"]
        return try await arena.withDatabase(for: contender) { place in
            let jobs = 100_000
            _ = try await contender.enqueue(jobs, spread, on: place.url)
            try await place.database.execute("vacuum analyze")
            try await arena.cluster.checkpoint()
            let draining = Draining(
                contender: contender, cluster: arena.cluster, place: place, arguments: spread)
            let drained = try await draining.run(jobs)

            let others = try await arena.cluster.connections(to: place.name)
            return try await Crew.with(1, of: contender, on: place.url, arguments: spread + ["--latencies"]) { crew in
                let produced = try await contender.produce(seconds: duration, rate: 20, spread, on: place.url)
                try await crew.waitUntil(ran: produced.jobs, atMost: .seconds(20))
                try await Task.sleep(for: .milliseconds(250))
                var values = drained.merging(crew.latencies.values) { $1 }
                values[.connections] = try await arena.cluster.connections(to: place.name) - others
                return values
            }
        }
    }
}
