import Benchmark
import Errand

/// The same load before and while a session holds an old snapshot, by `errand bench --pinned`.
struct Pinned: Scenario {
    /// Twice.
    let duration: Duration
    /// Jobs a second; nil for all that the worker can do.
    var rate: Int?
    var name: String { rate.map { "pinned-\($0)" } ?? "pinned" }
    var about: String {
        let load = rate.map { "\($0) jobs a second" } ?? "all that a worker can do"
        return "\(load), before and while an old snapshot is held; times are of claims"
    }
    let peers = Peers.none
    let isRepeated = false
    var seconds: Double { duration / .seconds(1) * 2 + 15 }

    private struct Answer: Decodable {
        let before: ErrandFigures
        let pinned: ErrandFigures
    }

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        try await arena.withDatabase(for: contender) { place in
            let load = ["--jobs", "20000", "--skip-idle", "--pinned", "\(duration.components.seconds)"]
            let offered = rate.map { ["--rate", "\($0)"] } ?? []
            let answer = try await arena.errandBench(load + offered, of: contender, on: place.url, as: Answer.self)
            return ["/before": answer.before.values, "/held": answer.pinned.values]
        }
    }
}

/// The same load beside a transaction of somebody else that has written and doesn't end.
struct LongWriter: Scenario {
    let name = "long-writer"
    let about = "a steady load before and beside a transaction that has written and stays open; times are of claims"
    let peers = Peers.none
    let isRepeated = false
    let seconds = 20.0

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        try await arena.withDatabase(for: contender) { place in
            let load = ["--jobs", arena.isFull ? "2000000" : "300000", "--skip-idle"]
            let before = try await arena.errandBench(load, of: contender, on: place.url, as: ErrandFigures.self)
            let during = try await place.holding("select pg_current_xact_id()") {
                try await arena.errandBench(load, of: contender, on: place.url, as: ErrandFigures.self)
            }
            return ["/before": before.values, "/held": during.values]
        }
    }
}

/// Portions of jobs, enqueued and worked off one after the other while a session holds an old snapshot.
struct Held: Scenario {
    let name = "held"
    let about = "portions of jobs enqueued and worked off while an old snapshot is held: the first and the last one"
    let peers = Peers.leading
    let baselines: Set<String> = ["c"]
    let isRepeated = false
    let seconds = 15.0

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        let jobs = arena.jobs(arena.isFull ? 100_000 : 40_000, for: contender)
        return try await arena.withDatabase(for: contender) { place in
            try await place.holding("select count(*) from pg_class") {
                var portions: [Values] = []
                for _ in 0..<(arena.isFull ? 10 : 3) {
                    _ = try await contender.enqueue(jobs, on: place.url)
                    let draining = Draining(contender: contender, cluster: arena.cluster, place: place)
                    portions.append(try await draining.run(jobs))
                }
                return ["/first": portions[0], "/last": portions[portions.count - 1]]
            }
        }
    }
}
