import Benchmark
import Foundation
import Testing

@Suite("Report") struct ReportTests {
    private var results: Results {
        var results = Results(
            started: "20260101T000000Z", isFull: false, machine: ["fsync": "on"],
            contenders: [
                Results.Facts(
                    name: "errand", version: "0.2.0", settings: "defaults", finished_job_is: "kept",
                    unfinished: "select false",
                    bulk: "an array", language: "Swift")
            ])
        for (round, rate) in [60_000.0, 66_000, 63_000].enumerated() {
            results.samples.append(
                Results.Sample(
                    scenario: "drain-1", contender: "errand", round: round + 1, load: 0.5,
                    values: [.rate: rate, .workerCPU: 6.25]))
            results.samples.append(
                Results.Sample(
                    scenario: "drain-1", contender: "c", round: round + 1, load: 0.5, values: [.rate: 70_000]))
        }
        return results
    }

    @Test("a scenario's table has the medians, and how far the rates of the rounds differ")
    func table() {
        #expect(
            Report(results).table(of: "drain-1") == [
                "drain-1  rounds  load  jobs/s   ±  worker us",
                "errand        3   0.5  63,000  5%        6.3",
                "c             3   0.5  70,000  0%           ",
            ])
    }

    @Test("the head names the settings and every contender's version")
    func head() {
        let head = Report(results).head
        #expect(head.contains("fsync: on"))
        #expect(head.contains { $0.contains("errand") && $0.contains("0.2.0") && $0.contains("kept") })
        #expect(head.last == "errand: defaults")
    }

    @Test("promises that were measured are a line each, the others are counted")
    func promises() throws {
        let lines = Report(results).promises
        #expect(
            lines.first
                == "ok    drain, one worker, against C on the bare tables: 63,000 jobs/s, c 70,000: ratio 0.90, at least 0.80"
        )
        #expect(lines.contains("ok    Swift's own cost: 6.3 worker us, at most 8.0"))
        #expect(try #require(lines.last).hasSuffix("promises have no numbers in this run"))
    }

    @Test("a results file reads back unchanged")
    func file() throws {
        #expect(try Results(json: results.json()) == results)
    }

    @Test("numbers of the file have the names that the metrics have")
    func names() throws {
        let text = String(decoding: try results.json(), as: UTF8.self)
        #expect(text.contains(#""jobs_per_second" : 66000"#))
        #expect(text.contains(#""worker_cpu_us_per_job" : 6.25"#))
    }
}
