import Benchmark
import Testing

@Suite("Promises") struct PromiseTests {
    private static let errand = Results.Key("drain-1", "errand", .rate)
    private static let peer = Results.Key("drain-1", "c", .rate)

    private func series(_ values: [Results.Key: Double]) -> [Results.Key: Series] {
        values.compactMapValues { Series([$0]) }
    }

    @Test(
        "a multiple holds from its bound on",
        arguments: [(80.0, Promise.Verdict.ok), (81, .ok), (79, .short)])
    func atLeast(own: Double, expected: Promise.Verdict) {
        let promise = Promise("drain", Self.errand, .atLeast(0.8, times: Self.peer))
        #expect(promise.verdict(in: series([Self.errand: own, Self.peer: 100])).0 == expected)
    }

    @Test(
        "an upper bound holds up to itself, and `below` doesn't",
        arguments: [(99.0, Promise.Verdict.ok, Promise.Verdict.ok), (100, .ok, .short), (101, .short, .short)])
    func upperBounds(own: Double, atMost: Promise.Verdict, below: Promise.Verdict) {
        let measured = series([Self.errand: own, Self.peer: 100])
        #expect(Promise("", Self.errand, .atMost(1, times: Self.peer)).verdict(in: measured).0 == atMost)
        #expect(Promise("", Self.errand, .below(Self.peer)).verdict(in: measured).0 == below)
        #expect(Promise("", Self.errand, .noMore(100)).verdict(in: measured).0 == atMost)
    }

    @Test("the line has both numbers and the ratio")
    func text() {
        let promise = Promise("drain against C", Self.errand, .atLeast(0.8, times: Self.peer))
        #expect(
            promise.verdict(in: series([Self.errand: 61_204, Self.peer: 76_500])).1
                == "drain against C: 61,204 jobs/s, c 76,500: ratio 0.80, at least 0.80")
    }

    @Test("few jobs per second are printed with two decimals")
    func fewJobs() {
        let promise = Promise("photos", Self.errand, .atLeast(0.67, times: Self.peer))
        #expect(
            promise.verdict(in: series([Self.errand: 2.43, Self.peer: 100])).1
                == "photos: 2.43 jobs/s, c 100: ratio 0.02, at least 0.67")
    }

    @Test("without both numbers it is open")
    func open() {
        let promise = Promise("drain", Self.errand, .atLeast(0.8, times: Self.peer))
        #expect(promise.verdict(in: series([Self.errand: 5])).0 == .open)
        #expect(promise.verdict(in: series([Self.peer: 5])).0 == .open)
        #expect(promise.verdict(in: series([Self.errand: 5, Self.peer: 0])).0 == .open)
    }
}
