import Benchmark
import Foundation
import Subprocess
import SystemPackage

/// How long a claim takes however many jobs wait, by ../../Backlog/backlog.sh, which takes the lengths in turn itself.
struct Backlog: Scenario {
    let lengths: [Int]
    let name = "backlog"
    let about = "a claim of 20 with so many jobs waiting, on databases that are kept for the next time"
    let peers = Peers.none
    let comparesCommits = false
    let isRepeated = false
    var seconds: Double { lengths.contains(10_000_000) ? 400 : 45 }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        let result = try await Subprocess.run(
            .path(context.root.appending("Benchmarks/Backlog/backlog.sh")),
            arguments: Arguments(lengths.map(String.init)),
            environment: .inherit.updating(["BATCHES": "20"]), output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20))
        // It ends with 1 if its own bound isn't kept: that is a result too.
        let rows = Self.rows(of: result.standardOutput)
        guard rows.count == lengths.count else { throw BenchError("backlog.sh: \(result.standardError)") }
        return rows
    }

    /// The lines `WAITING p50 p95 p99 …` of its table.
    static func rows(of text: String) -> [String: Values] {
        var rows: [String: Values] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 5, let waiting = Int(words[0]), let p50 = Double(words[1]), let p99 = Double(words[3])
            else { continue }
            rows["/\(waiting)"] = [.p50: p50, .p99: p99]
        }
        return rows
    }
}
