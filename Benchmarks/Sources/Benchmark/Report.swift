/// The results as people read them: medians with their spread, promises, and what moved.
public struct Report: Sendable {
    private let results: Results
    private let series: [Results.Key: Series]

    public init(_ results: Results) {
        self.results = results
        series = results.series
    }

    /// The machine, the settings of the server, and who takes part in which version with which settings.
    public var head: [String] {
        var table = Table(head: ["contender", "version", "finished job is", "bulk", "language"])
        for facts in results.contenders {
            table.add([facts.name, facts.version, facts.finished_job_is, facts.bulk, facts.language])
        }
        return results.machine.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" } + [""] + table.lines
            + [""] + results.contenders.map { "\($0.name): \($0.settings)" }
    }

    /// A table of one scenario: medians, and behind the rate how far its rounds differ.
    public func table(of scenario: String) -> [String] {
        let contenders = results.contenders(in: scenario)
        let metrics = Metric.allCases.filter { metric in
            contenders.contains { series[Results.Key(scenario, $0, metric)] != nil }
        }
        var table = Table(
            head: [scenario, "rounds", "load"] + metrics.flatMap { $0 == .rate ? [$0.title, "±"] : [$0.title] })
        for contender in contenders {
            let loads = results.samples.filter { $0.scenario == scenario && $0.contender == contender }.map(\.load)
            let load = Series(loads).map { Metric.text($0.median, digits: 1) } ?? ""
            var row = [contender, "\(loads.count)", load]
            for metric in metrics {
                let number = series[Results.Key(scenario, contender, metric)]
                row.append(number.map { metric.text($0.median) } ?? "")
                if metric == .rate {
                    row.append(number.map { "\(Metric.text($0.relativeSpread * 50, digits: 0))%" } ?? "")
                }
            }
            table.add(row)
        }
        return table.lines
    }

    public var tables: [String] { results.scenarios.flatMap { table(of: $0) + [""] } }

    /// A line a promise that this run has the numbers for, and how many it hasn't.
    public var promises: [String] {
        let verdicts = Promise.all.map { $0.verdict(in: series) }
        let open = verdicts.count { $0.0 == .open }
        return verdicts.filter { $0.0 != .open }.map { verdict, text in
            verdict.rawValue.padded(to: 6) + text
        } + (open == 0 ? [] : ["\(open) of \(verdicts.count) promises have no numbers in this run"])
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
