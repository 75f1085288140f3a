import CoreMetrics
import Testing

@testable import Web

@Suite("What a process counts") struct MetricRegistryTests {
    private func text(_ registry: MetricRegistry) -> String {
        var page = MetricPage()
        registry.write(to: &page)
        // MetricPageTests is about the lines of help.
        return page.text.replacing(/# HELP [^\n]*\n/, with: "")
    }

    @Test("counts from many tasks add up, with any order of labels")
    func counters() async {
        let registry = MetricRegistry()
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    let labels = [("queue", "a"), ("kind", "b")]
                    let counter = Counter(
                        label: "ends_total", dimensions: task % 2 == 0 ? labels : labels.reversed(), factory: registry)
                    for _ in 0..<1000 { counter.increment(by: 2) }
                }
            }
        }
        #expect(text(registry) == "# TYPE ends_total counter\nends_total{kind=\"b\",queue=\"a\"} 16000\n")
    }

    @Test("the series of a metric beyond a bound are added up as other, also those of a queue of that name")
    func bounded() {
        let registry = MetricRegistry()
        for queue in ["other"] + (1...999).map({ "q\($0)" }) {
            let labels = [("queue", queue), ("cell", "a")]
            Counter(label: "ends_total", dimensions: labels, factory: registry).increment()
            Meter(label: "slots", dimensions: labels, factory: registry).set(2)
            Timer(label: "run_seconds", dimensions: labels, factory: registry).recordSeconds(1)
        }
        let lines = text(registry).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count == 2 * 301 + 61 * (HistogramSeries.bounds.count + 3))
        #expect(lines.contains(#"ends_total{cell="a",queue="other"} 700"#))
        #expect(lines.contains(#"slots{cell="a",queue="other"} 1400"#))
        #expect(lines.contains(#"run_seconds_sum{cell="a",queue="other"} 940"#))
        #expect(lines.contains(#"run_seconds_count{cell="a",queue="other"} 940"#))
    }

    @Test("a gauge has the last value, and increments and decrements")
    func gauges() {
        let registry = MetricRegistry()
        let meter = Meter(label: "running", factory: registry)
        meter.set(5)
        meter.increment(by: 2.5)
        meter.decrement()
        Gauge(label: "free", factory: registry).record(7)
        #expect(text(registry) == "# TYPE running gauge\nrunning 6.5\n# TYPE free gauge\nfree 7\n")
    }

    @Test("a histogram's buckets hold all times up to their bound, in seconds")
    func histograms() {
        let registry = MetricRegistry()
        let timer = Timer(label: "run_seconds", dimensions: [("kind", "a")], factory: registry)
        for milliseconds in [1, 3, 3, 400_000] { timer.recordMilliseconds(milliseconds) }
        let lines = text(registry).split(separator: "\n").map(String.init)
        #expect(lines.count == 1 + HistogramSeries.bounds.count + 3)
        #expect(lines.contains(#"run_seconds_bucket{kind="a",le="0.001"} 1"#))
        #expect(lines.contains(#"run_seconds_bucket{kind="a",le="0.0025"} 1"#))
        #expect(lines.contains(#"run_seconds_bucket{kind="a",le="0.005"} 3"#))
        #expect(lines.contains(#"run_seconds_bucket{kind="a",le="300"} 3"#))
        #expect(lines.contains(#"run_seconds_bucket{kind="a",le="+Inf"} 4"#))
        #expect(lines.contains(#"run_seconds_sum{kind="a"} 400.007"#))
        #expect(lines.contains(#"run_seconds_count{kind="a"} 4"#))
    }

    @Test("a name that is a counter is shown as nothing else beside")
    func mixed() {
        let registry = MetricRegistry()
        Counter(label: "jobs", factory: registry).increment()
        Meter(label: "jobs", dimensions: [("a", "b")], factory: registry).set(5)
        #expect(text(registry) == "# TYPE jobs counter\njobs 1\n")
    }
}
