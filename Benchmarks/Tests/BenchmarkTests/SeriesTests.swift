import Benchmark
import Testing

@Suite("Series") struct SeriesTests {
    @Test("the median is the middle round, or the mean of the two in the middle")
    func medians() throws {
        #expect(try #require(Series([5, 1, 3])).median == 3)
        #expect(try #require(Series([4, 1, 3, 8])).median == 3.5)
        #expect(try #require(Series([7])).median == 7)
        #expect(Series([]) == nil)
    }

    @Test("the spread reaches from the lowest to the highest round")
    func spread() throws {
        let series = try #require(Series([100, 90, 120]))
        #expect(series.spread == 30)
        #expect(series.relativeSpread == 0.3)
    }

    @Test("a single round counts as uncertain by a fifth")
    func singleRound() throws {
        #expect(try #require(Series([50])).spread == 10)
        #expect(try #require(Series([0])).relativeSpread == 0)
    }
}

@Suite("Latencies") struct LatenciesTests {
    @Test("quantiles are milliseconds, to a thousandth of their value")
    func quantiles() throws {
        let values = Latencies(microseconds: Array(1...10_000)).values
        let (p50, p99, longest) = (
            try #require(values[.p50]), try #require(values[.p99]), try #require(values[.longest])
        )
        #expect((p50 - 5).magnitude <= 0.005)
        #expect((p99 - 9.9).magnitude <= 0.01)
        #expect((longest - 10).magnitude <= 0.01)
    }

    @Test("nothing measured has no quantiles, and a clock that went back counts as no time")
    func edges() {
        #expect(Latencies().values.isEmpty)
        var latencies = Latencies(microseconds: [-5, Int.max])
        #expect(latencies.count == 2)
        #expect(latencies.percentile(50) == 0)
        latencies.add(Latencies(microseconds: [1_000, 1_000, 1_000]))
        #expect(latencies.count == 5)
        #expect(latencies.percentile(60) == 1)
    }
}
