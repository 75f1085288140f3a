import Benchmark
import Foundation

/// The scenarios of one call, one after the other, and in each the contenders in turn: round by round, so that the
/// machine's moods hit all alike.
struct Run {
    private let scenarios: [any Scenario]
    private let contenders: [Contender]
    private let rounds: Int
    private let context: RunContext
    private(set) var results: Results
    /// Contenders that can't take part here, in words.
    private(set) var absent: [String] = []
    /// Runs that came to nothing, in words.
    private(set) var failures: [String] = []

    /// Asks each contender what it is; those that can't say are left out.
    init(
        scenarios: [any Scenario], field: Field, names: [String]?, rounds: Int, context: RunContext, started: String
    ) async throws {
        let known = Set(field.all.map(\.name))
        if let stranger = names?.first(where: { !known.contains($0) }) {
            throw BenchError("no contender is named \(stranger): \(known.sorted().joined(separator: ", "))")
        }
        var contenders: [Contender] = []
        var facts: [Results.Facts] = []
        for contender in field.all where names?.contains(contender.name) ?? true {
            guard scenarios.contains(where: { $0.takesPart(contender.name, isFull: context.isFull) }) else { continue }
            do {
                let own = try await contender.describe()
                var contender = contender
                contender.unfinished = own.unfinished
                contenders.append(contender)
                facts.append(own)
            } catch {
                // Who was asked for by name has to be there; another one may not be to be had on this machine.
                guard names == nil else { throw error }
                absent.append("\(error)")
            }
        }
        self.scenarios = scenarios
        self.contenders = contenders
        self.rounds = rounds
        self.context = context
        let machine = try await context.cluster.settings().merging(Host.facts) { setting, _ in setting }
        results = Results(started: started, isFull: context.isFull, machine: machine, contenders: facts)
    }

    /// - Parameter save: is called after each scenario, so that an interrupted run leaves what it has.
    mutating func run(save: (Results) throws -> Void) async throws {
        let start = ContinuousClock.now
        let seconds = scenarios.reduce(0) { $0 + $1.seconds * Double(rounds(of: $1) * takingPart(in: $1).count) }
        note("\(scenarios.count) scenarios, \(contenders.count) contenders, about \(Int(seconds / 60) + 1) minutes")
        for scenario in scenarios {
            note("\(scenario.name): \(scenario.about)")
            for round in 1...rounds(of: scenario) {
                for contender in takingPart(in: scenario) { await run(scenario, contender, round: round) }
            }
            try save(results)
        }
        note("done in \(Int((ContinuousClock.now - start) / .seconds(60)) + 1) minutes")
    }

    private func rounds(of scenario: any Scenario) -> Int { scenario.isRepeated ? rounds : 1 }

    private func takingPart(in scenario: any Scenario) -> [Contender] {
        contenders.filter { scenario.takesPart($0.name, isFull: context.isFull) }
    }

    private mutating func run(_ scenario: any Scenario, _ contender: Contender, round: Int) async {
        let (clock, load) = (ContinuousClock(), Host.load)
        let start = clock.now
        do {
            let outcome = try await scenario.run(contender, in: context)
            for (part, values) in outcome.sorted(by: { $0.key < $1.key }) {
                results.samples.append(
                    Results.Sample(
                        scenario: scenario.name + part, contender: contender.name, round: round, load: load,
                        values: values))
            }
            let rates = outcome.sorted { $0.key < $1.key }.compactMap { part, values in
                values[.rate].map { "\(part.isEmpty ? "" : part + " ")\(Metric.rate.text($0)) jobs/s" }
            }
            note(
                "    \(round) \(contender.name): \(rates.joined(separator: ", ")) in \((clock.now - start) / .seconds(1)) s"
            )
        } catch {
            failures.append("\(scenario.name) \(contender.name), round \(round): \(error)")
            note("    \(round) \(contender.name): FAILED: \(error)")
        }
    }

    /// How far it is, apart from the report.
    private func note(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}
