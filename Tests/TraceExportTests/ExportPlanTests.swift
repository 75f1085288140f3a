import Testing

@testable import TraceExport

@Suite("When spans are sent") struct ExportPlanTests {
    private let start = ContinuousClock.now

    @Test("a full batch is sent at once, a single span after the interval")
    func batches() {
        var plan = ExportPlan(ExportLimits())
        #expect(plan.delay(waiting: 0, false, at: start) == nil)
        #expect(plan.delay(waiting: 1, false, at: start) == .seconds(5))
        #expect(plan.delay(waiting: 2, false, at: start + .seconds(4)) == .seconds(1))
        #expect(plan.delay(waiting: 2, true, at: start + .seconds(4)) == .zero)
        #expect(plan.delay(waiting: 512, false, at: start + .seconds(4)) == .zero)
    }

    @Test("after failures the pauses grow to 30 s, or are what the collector asks for, until it takes a batch")
    func backoff() {
        var plan = ExportPlan(ExportLimits())
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            plan.failed(retryAfter: nil, at: start)
            #expect(plan.delay(waiting: 512, true, at: start) == .seconds(seconds))
        }
        plan.failed(retryAfter: .seconds(7), at: start)
        #expect(plan.delay(waiting: 512, false, at: start) == .seconds(7))
        plan.completed()
        #expect(plan.delay(waiting: 512, false, at: start) == .zero)
    }

    @Test(
        "an address and headers that no request can have are refused",
        arguments: [
            ("ftp://host", ""), ("http://", ""), ("host:4318", ""), ("http://user:word@host", ""),
            ("http://host?key=1", ""), ("http://host", "key"), ("http://host", "=value"), ("http://host", "a=b%0Ac"),
        ])
    func refused(endpoint: String, headers: String) {
        #expect(TraceCollector(endpoint: endpoint, headers: headers) == nil)
    }

    @Test("the path of the collector is kept")
    func path() throws {
        #expect(try #require(TraceCollector(endpoint: "https://host/otlp/")).url == "https://host/otlp/v1/traces")
    }

    @Test(
        "a malformed traceparent starts a trace of its own",
        arguments: [
            "", "00-0-0-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        ])
    func traceparent(text: String) { #expect(SpanIdentity(traceparent: text) == nil) }
}
