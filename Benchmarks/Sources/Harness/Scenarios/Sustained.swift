import Benchmark
import Errand

/// How long jobs wait at a rate that a worker is far from being busy with, by `errand bench --rate`.
struct Sustained: Scenario {
    /// Jobs a second.
    let rate: Int
    /// Seconds.
    let duration: Int
    let name = "sustained"
    let peers = Peers.none
    let isRepeated = false
    var about: String { "\(rate) jobs a second for \(duration) s; times are from due to claimed, of each job" }
    var seconds: Double { Double(duration + 10) }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            let load = ["--rate", "\(rate)", "--jobs", "\(rate * duration)", "--skip-idle"]
            var values = try await context.errandBench(load, of: contender, on: runDatabase.url, as: ErrandFigures.self)
                .values
            let rows = try await runDatabase.database.query(Statement(Self.waits))
            guard let row = rows.first else { throw BenchError("errand bench: no job has ended") }
            let (p50, p99, longest) = try row.decode(Double.self, Double.self, Double.self)
            values.merge([.p50: p50, .p99: p99, .longest: longest]) { $1 }
            return ["": values]
        }
    }

    private static let waits = """
        select
            percentile_disc(0.5) within group (order by wait), percentile_disc(0.99) within group (order by wait),
            max(wait)
        from (select extract(epoch from started_at - run_at)::float8 * 1000 as wait from errand.history) as job
        """
}
