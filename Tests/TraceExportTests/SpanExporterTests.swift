import CoreMetrics
import Foundation
import Logging
import MetricsTestKit
import NIOCore
import Testing
import Tracing

@testable import TraceExport

@Suite("The export of spans") struct SpanExporterTests {
    private let metrics = TestMetrics()

    @Test("a collector gets spans as OTLP's JSON: hex identifiers, times as texts, status, attributes, resource")
    func json() async throws {
        let collector = try await Collector()
        let (tracer, exporter) = try tracer(to: collector, headers: "x-key=a%20b")
        exporter.start()
        var origin = InstrumentationContext.topLevel
        tracer.extract(["traceparent": Self.parent], into: &origin, using: Fields())
        let span = tracer.startSpan("errand.run probe", context: origin, ofKind: .consumer)
        span.updateAttributes { attributes in
            attributes["errand.attempt"] = 3
            attributes["errand.kind"] = "probe"
            attributes["ok"] = true
            attributes["ratio"] = 0.5
        }
        span.recordError(Broken(secret: "hunter2"))
        span.addLink(SpanLink(context: origin, attributes: [:]))
        span.setStatus(SpanStatus(code: .error, message: "broken"))
        span.end()
        await exporter.stop(within: .seconds(5))
        let request = try #require(collector.requests.first)
        #expect(request.path == "/v1/traces" && request.headers["content-type"] == "application/json")
        #expect(request.headers["x-key"] == "a b" && request.headers["traceparent"] == nil)
        #expect(!String(decoding: request.body, as: UTF8.self).contains("hunter2"))
        let sent = try JSONDecoder().decode(Sent.self, from: request.body).resourceSpans[0]
        #expect(sent.resource.attributes.contains { $0.key == "service.name" && $0.value.stringValue == "tests" })
        let first = try #require(sent.scopeSpans.first?.spans.first)
        #expect(first.traceId == "0af7651916cd43dd8448eb211c80319c" && first.parentSpanId == "b7ad6b7169203331")
        #expect(first.spanId.wholeMatch(of: /[0-9a-f]{16}/) != nil && first.spanId != first.parentSpanId)
        #expect(first.name == "errand.run probe" && first.kind == 5)
        let (start, end) = (try #require(UInt64(first.startTimeUnixNano)), try #require(UInt64(first.endTimeUnixNano)))
        #expect(start <= end && abs(Double(end) / 1e9 - Date.now.timeIntervalSince1970) < 60)
        #expect(first.status.code == 2 && first.status.message == "broken")
        let values = Dictionary(uniqueKeysWithValues: first.attributes.map { ($0.key, $0.value) })
        #expect(values["errand.attempt"]?.intValue == "3" && values["errand.kind"]?.stringValue == "probe")
        #expect(values["ok"]?.boolValue == true && values["ratio"]?.doubleValue == 0.5)
        #expect(first.events.map(\.name) == ["exception"] && first.links.map(\.spanId) == ["b7ad6b7169203331"])
        try await collector.stop()
    }

    @Test("spans of a trace that its origin doesn't record are not exported, and their children neither")
    func unsampled() async throws {
        let collector = try await Collector()
        let (tracer, exporter) = try tracer(to: collector)
        exporter.start()
        var origin = InstrumentationContext.topLevel
        tracer.extract(
            ["traceparent": Self.parent.dropLast(1).description + "0"], into: &origin, using: Fields())
        let span = tracer.startSpan("quiet", context: origin)
        #expect(!span.isRecording)
        var fields: [String: String] = [:]
        tracer.inject(span.context, into: &fields, using: Fields())
        #expect(fields["traceparent"]?.hasSuffix("-00") == true)
        span.end()
        await exporter.stop(within: .seconds(5))
        #expect(collector.requests.isEmpty)
        try await collector.stop()
    }

    @Test("while no collector listens, ended spans wait up to the limit, further ones are dropped and counted")
    func down() async throws {
        let collector = try await Collector()
        try await collector.stop()
        var limits = ExportLimits()
        (limits.queue, limits.batch) = (100, 10)
        let (tracer, exporter) = try tracer(to: collector, limits: limits)
        exporter.start()
        // None of them waits for the exporter, which has no place for all.
        for _ in 0..<250 { tracer.startSpan("job").end() }
        #expect(try counted("queue_full") == 150)
        await exporter.stop(within: .milliseconds(300))
        #expect(try counted("failed") == 100 && counted("exported") == 0)
    }

    @Test("a busy collector gets the same spans again; one that refuses them does not")
    func busy() async throws {
        let collector = try await Collector()
        var limits = ExportLimits()
        limits.interval = .milliseconds(100)
        let (tracer, exporter) = try tracer(to: collector, limits: limits)
        collector.replies(.init(status: 503))
        exporter.start()
        tracer.startSpan("job").end()
        tracer.forceFlush()
        #expect(try await collector.receives(1))
        collector.replies(.init(status: 200, body: #"{"partialSuccess":{"rejectedSpans":"1"}}"#))
        #expect(try await collector.receives(2))
        #expect(collector.requests[0].body == collector.requests[1].body)
        collector.replies(.init(status: 400))
        tracer.startSpan("job").end()
        await exporter.stop(within: .seconds(5))
        #expect(collector.requests.count == 3)
        #expect(try counted("refused") == 2 && counted("exported") == 0)
        try await collector.stop()
    }

    @Test("a collector that never replies holds up the stop for its limit only")
    func slow() async throws {
        let collector = try await Collector()
        collector.replies(.init(delay: .seconds(30)))
        let (tracer, exporter) = try tracer(to: collector)
        exporter.start()
        tracer.startSpan("job").end()
        let start = ContinuousClock.now
        await exporter.stop(within: .milliseconds(300))
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(try counted("failed") == 1)
        try await collector.stop()
    }

    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private func tracer(
        to collector: Collector, headers: String = "", limits: ExportLimits = ExportLimits()
    ) throws -> (ExportTracer, SpanExporter) {
        let exporter = SpanExporter(
            to: try #require(TraceCollector(endpoint: collector.url, headers: headers)), service: "tests",
            instance: "here", version: "1", limits: limits, logger: Logger(label: "test"), factory: metrics)
        return (ExportTracer(exporter), exporter)
    }

    private func counted(_ outcome: String) throws -> Int64 {
        try metrics.expectCounter("errand_spans_total", [("outcome", outcome)]).totalValue
    }

    private struct Broken: Error { let secret: String }

    private struct Fields: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into fields: inout [String: String]) { fields[key] = value }
        func extract(key: String, from fields: [String: String]) -> String? { fields[key] }
    }
}

/// The parts of a request that the tests read.
private struct Sent: Decodable {
    let resourceSpans: [ResourceSpans]

    struct ResourceSpans: Decodable {
        let resource: Resource
        let scopeSpans: [ScopeSpans]
    }
    struct Resource: Decodable { let attributes: [Pair] }
    struct ScopeSpans: Decodable { let spans: [Span] }
    struct Pair: Decodable {
        let key: String
        let value: Value
    }
    struct Value: Decodable {
        let stringValue: String?
        let intValue: String?
        let boolValue: Bool?
        let doubleValue: Double?
    }
    struct Span: Decodable {
        let traceId, spanId: String
        let parentSpanId: String?
        let name: String
        let kind: Int
        let startTimeUnixNano, endTimeUnixNano: String
        let attributes: [Pair]
        let events: [Event]
        let links: [Link]
        let status: Status
    }
    struct Event: Decodable { let name: String }
    struct Link: Decodable { let spanId: String }
    struct Status: Decodable {
        let code: Int
        let message: String?
    }
}
