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

    private struct Reply: Decodable {
        let before: ErrandFigures
        let pinned: ErrandFigures
    }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            let load = ["--jobs", "20000", "--skip-idle", "--pinned", "\(duration.components.seconds)"]
            let offered = rate.map { ["--rate", "\($0)"] } ?? []
            let reply = try await context.errandBench(
                load + offered, of: contender, on: runDatabase.url, as: Reply.self)
            return ["/before": reply.before.values, "/held": reply.pinned.values]
        }
    }
}

/// The same load beside an open transaction of another session that has written.
struct LongWriter: Scenario {
    let name = "long-writer"
    let about = "a steady load before and beside a transaction that has written and stays open; times are of claims"
    let peers = Peers.none
    let isRepeated = false
    let seconds = 20.0

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            let load = ["--jobs", context.isFull ? "2000000" : "300000", "--skip-idle"]
            let before = try await context.errandBench(load, of: contender, on: runDatabase.url, as: ErrandFigures.self)
            let during = try await runDatabase.holding("select pg_current_xact_id()") {
                try await context.errandBench(load, of: contender, on: runDatabase.url, as: ErrandFigures.self)
            }
            return ["/before": before.values, "/held": during.values]
        }
    }
}

/// Batches of jobs, enqueued and drained one after the other while a session holds an old snapshot.
struct Held: Scenario {
    let name = "held"
    let about = "batches of jobs enqueued and run while an old snapshot is held: the first and the last one"
    let peers = Peers.leading
    let baselines: Set<String> = ["c"]
    let isRepeated = false
    let seconds = 15.0

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        let jobs = context.jobs(context.isFull ? 100_000 : 40_000, for: contender)
        return try await context.withDatabase(for: contender) { runDatabase in
            try await runDatabase.holding("select count(*) from pg_class") {
                var batches: [Values] = []
                for _ in 0..<(context.isFull ? 10 : 3) {
                    _ = try await contender.enqueue(jobs, on: runDatabase.url)
                    let draining = Draining(contender: contender, cluster: context.cluster, runDatabase: runDatabase)
                    batches.append(try await draining.run(jobs))
                }
                return ["/first": batches[0], "/last": batches[batches.count - 1]]
            }
        }
    }
}
