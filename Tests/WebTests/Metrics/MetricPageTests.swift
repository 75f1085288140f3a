import Testing

@testable import Web

@Suite("Prometheus's text format") struct MetricPageTests {
    @Test("all samples of a metric stand together, below one line each with its help and type")
    func grouped() {
        var page = MetricPage()
        page.add("jobs", .gauge, [Label("queue", "a")], 1)
        page.add("times_total", .counter, [], 2.5)
        page.add("jobs", .gauge, [Label("queue", "b"), Label("state", "due")], 3)
        #expect(
            page.text == """
                # HELP jobs Counted by this program's code.
                # TYPE jobs gauge
                jobs{queue="a"} 1
                jobs{queue="b",state="due"} 3
                # HELP times_total Counted by this program's code.
                # TYPE times_total counter
                times_total 2.5

                """)
    }

    @Test("the database's samples of a histogram are one metric, and a gauge keeps its name")
    func suffixes() {
        let samples = [
            ("wait_bucket", MetricType.histogram), ("wait_sum", .histogram), ("wait_count", .histogram),
            ("rows_count", .gauge),
        ].map { StatusSamples.Sample(name: $0, type: $1, labels: [], value: 1) }
        #expect(samples.map(\.name) == ["wait", "wait", "wait", "rows_count"])
        #expect(samples.map(\.suffix) == ["_bucket", "_sum", "_count", ""])
    }

    @Test(
        "a label's value may be any text, and forges no line",
        arguments: [
            (#"a"b"#, #"a\"b"#), (#"a\b"#, #"a\\b"#), ("a\nb 1", #"a\nb 1"#), ("ä 🐘", "ä 🐘"), ("", ""),
            ("a\\\n\"", #"a\\\n\""#),
        ])
    func values(value: String, written: String) {
        var page = MetricPage()
        page.add("jobs", .gauge, [Label("queue", value)], 1)
        #expect(page.text.hasSuffix("# TYPE jobs gauge\njobs{queue=\"\(written)\"} 1\n"))
        #expect(page.text.split(separator: "\n").count == 3)
    }

    @Test(
        "a name has only what Prometheus allows",
        arguments: [
            ("errand_jobs", "errand_jobs"), ("http.server.time-ms", "http_server_time_ms"), ("5xx", "_5xx"), ("", "_"),
            ("größe", "gr__e"), ("a:b", "a:b"), ("²", "_"),
        ])
    func names(name: String, written: String) {
        #expect(name.metricName == written)
        #expect(!Label(name, "").name.contains(":"))
    }

    @Test(
        "numbers are written as Prometheus reads them",
        arguments: [
            (0.0, "0"), (-1, "-1"), (1e15, "1000000000000000"), (0.1, "0.1"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
            (.nan, "NaN"), (1e300, "1e+300"),
        ])
    func numbers(number: Double, written: String) {
        #expect(number.metricText == written)
    }
}
