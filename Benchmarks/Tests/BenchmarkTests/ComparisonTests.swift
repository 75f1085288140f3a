import Benchmark
import Testing

@Suite("Comparison") struct ComparisonTests {
    private func results(_ rates: [Double], memory: [Double] = [], scenario: String = "drain-1") -> Results {
        var results = Results(started: "20260101T000000Z", isFull: false, machine: [:], contenders: [])
        for (round, rate) in rates.enumerated() {
            var values: Values = [.rate: rate]
            if round < memory.count { values[.memory] = memory[round] }
            results.samples.append(
                Results.Sample(scenario: scenario, contender: "errand", round: round + 1, load: 0, values: values))
        }
        return results
    }

    @Test("a change within the spread of the rounds is not reported")
    func withinSpread() {
        let comparison = Comparison(before: results([100, 110, 105]), after: results([112, 115, 111]))
        #expect(comparison.moves.isEmpty)
        #expect(comparison.compared == 1)
        #expect(Comparison(before: results([100, 101, 102]), after: results([90, 112, 120])).moves.isEmpty)
    }

    @Test("a rate that rises is better, memory that rises is worse")
    func directions() throws {
        let comparison = Comparison(
            before: results([100, 101, 102], memory: [40, 40, 41]),
            after: results([130, 131, 132], memory: [60, 60, 61]))
        #expect(comparison.moves.map(\.key.metric) == [.rate, .memory])
        #expect(comparison.moves.map(\.isBetter) == [true, false])
        #expect(comparison.moves.map(\.after) == [131, 60])
        #expect(
            comparison.lines == [
                "better drain-1 errand: jobs/s 101 -> 131 (+30 %)",
                "WORSE  drain-1 errand: RSS MiB 40.0 -> 60.0 (+50 %)",
                "2 of 2 numbers moved by more than their rounds differ",
            ])
    }

    @Test("a metric of only one run is not compared")
    func disjoint() {
        let comparison = Comparison(before: results([1]), after: results([100], scenario: "drain-2"))
        #expect(comparison.moves.isEmpty)
        #expect(comparison.compared == 0)
    }
}
