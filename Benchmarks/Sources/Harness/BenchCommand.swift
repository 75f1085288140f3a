import ArgumentParser
import Benchmark
import Foundation
import SystemPackage

/// Measures Errand beside its baselines and its peers, in turn on one server. Called by scripts/bench.sh.
@main struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measure Errand beside its baselines and peers, in turn on one server.")

    @Argument(help: "Scenarios: a whole name, or what stands before its first dash. All by default.")
    var scenarios: [String] = []

    @Option(help: "Who takes part, with commas between. All by default.")
    var contenders: String?

    @Option(help: "How often each contender runs each scenario.")
    var rounds = 3

    @Flag(help: "The long forms: all peers in every scenario, 10 minutes of a held snapshot, 10,000,000 jobs waiting.")
    var full = false

    @Option(help: "Seconds of a held snapshot, instead of 60 or, in a full run, 600.")
    var pinned: Int?

    @Option(help: "The folder of the results.")
    var out = ".errand/bench-results"

    @Option(help: "Compare with this results file; with the newest one of the folder by default.")
    var against: String?

    @Flag(help: "Say what there is, and end.")
    var list = false

    func validate() throws {
        guard rounds > 0 else { throw ValidationError("--rounds: expected at least 1, got \(rounds)") }
    }

    func run() async throws {
        let all = [any Scenario].all(isFull: full, pinned: .seconds(pinned ?? (full ? 600 : 60)))
        let unknown = scenarios.filter { name in !all.contains { $0.isChosen(by: name) } }
        guard unknown.isEmpty else { throw ValidationError("no scenario is named \(unknown.joined(separator: ", "))") }
        let chosen =
            scenarios.isEmpty ? all : all.filter { scenario in scenarios.contains { scenario.isChosen(by: $0) } }
        if list {
            for scenario in chosen { print("\(scenario.name): \(scenario.about)") }
            return
        }
        try await measure(chosen)
    }

    private func measure(_ scenarios: [any Scenario]) async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let url = environment["ERRAND_CLUSTER_URL"], let programs = environment["ERRAND_BIN"] else {
            throw BenchError("ERRAND_CLUSTER_URL and ERRAND_BIN are not set: call scripts/bench.sh")
        }
        let folder = ResultsFolder(path: out)
        try folder.make()
        // Read first: a name that is wrong shall be told before the measuring, not after.
        let chosen = try against.map(folder.read)
        let root = FilePath(FileManager.default.currentDirectoryPath)
        let started = Date.now.formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
        let before = environment["BENCH_BEFORE"].map { FilePath($0) }
        let field = Field(
            root: root, programs: FilePath(Bundle.main.bundlePath), before: before,
            log: FilePath(folder.file(started, "log")))
        let context = RunContext(
            cluster: try await Cluster(url: url), isFull: full, root: root, programs: FilePath(programs),
            before: before)
        var run = try await Run(
            scenarios: scenarios, field: field, names: contenders.map { $0.split(separator: ",").map(String.init) },
            rounds: rounds, context: context, started: started)
        try await run.run { results in try folder.write(results) }
        await context.cluster.close()

        let report = Report(run.results)
        print("\n" + (report.head + [""] + report.tables + report.promises).joined(separator: "\n"))
        if let (name, results) = try chosen ?? folder.newest(before: run.results) {
            print("\nagainst \(name):")
            print(Comparison(before: results, after: run.results).lines.joined(separator: "\n"))
        }
        print("\nEvery round is in \(folder.file(started, "json")).")
        if !run.absent.isEmpty { print((["", "not taking part:"] + run.absent).joined(separator: "\n")) }
        if !run.failures.isEmpty {
            print((["", "failed:"] + run.failures).joined(separator: "\n"))
            throw ExitCode.failure
        }
    }
}

extension Scenario {
    /// By its whole name, or by the part before a dash.
    func isChosen(by word: String) -> Bool { name == word || name.hasPrefix(word + "-") }
}
