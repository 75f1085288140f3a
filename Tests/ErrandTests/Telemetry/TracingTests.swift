import ErrandTestKit
import InMemoryTracing
import Postgres
import Synchronization
import Testing
import Tracing

@testable import Errand

@Suite("Tracing") struct TracingTests {
    @Test("an enqueue within a span hands its trace on, and the first attempt is the span's child")
    func joins() async throws {
        let tracer = W3CTracer()
        try await withTracer(tracer) {
            try await withWorker { database, queue in
                try await withSpan("order") { _ in
                    try await queue.enqueue(Noop())
                    try await queue.enqueue(all: [Noop(), Noop()])
                }
                #expect(try await database.drains())
            }
        }
        let order = try #require(tracer.finishedSpans.first { $0.operationName == "order" })
        let runs = tracer.finishedSpans.filter { $0.operationName == "errand.run noop" }
        #expect(runs.count == 3)
        #expect(runs.allSatisfy { $0.traceID == order.traceID && $0.parentSpanID == order.spanID && $0.links.isEmpty })
    }

    @Test("a span has the job, the worker and the outcome, and not the text of its error")
    func attributes() async throws {
        let tracer = W3CTracer()
        let handler = ProbeHandler { job, _ in job.step == 0 ? .done : .fail(reason: "of no use") }
        try await withTracer(tracer) {
            try await withWorker([handler]) { database, queue in
                try await queue.enqueue(all: [Probe(step: 0), Probe(step: 1)])
                #expect(try await database.drains())
            }
        }
        let runs = tracer.finishedSpans.sorted { $0.status == nil && $1.status != nil }
        try #require(runs.count == 2)
        for run in runs {
            #expect(run.kind == .consumer && run.parentSpanID == nil)
            #expect(run.attributes.get("messaging.system") == .string("errand"))
            #expect(run.attributes.get("messaging.destination.name") == .string("default"))
            #expect(run.attributes.get("messaging.operation.type") == .string("process"))
            #expect(run.attributes.get("messaging.message.id") != nil)
            #expect(run.attributes.get("errand.kind") == .string("probe"))
            #expect(run.attributes.get("errand.attempt") == .int64(1))
        }
        #expect(runs[0].attributes.get("errand.outcome") == .string("succeeded"))
        #expect(runs[1].attributes.get("errand.outcome") == .string("failed"))
        #expect(runs[1].status == SpanStatus(code: .error, message: "reported by its handler"))
        #expect(runs[0].traceID != runs[1].traceID)
    }

    @Test("a retry starts a trace of its own that links to the enqueue's, and its error is on the span")
    func links() async throws {
        let tracer = W3CTracer()
        let handler = ProbeHandler { _, context in
            if context.attempt == 1 { throw CircuitUnknown() }
            return .done
        }
        try await withTracer(tracer) {
            try await withWorker([handler]) { database, queue in
                _ = try await withSpan("order") { _ in try await queue.enqueue(Probe()) }
                #expect(try await database.becomes("not exists (select from errand.job)", after: database.promote))
            }
        }
        let order = try #require(tracer.finishedSpans.first { $0.operationName == "order" })
        let runs = tracer.finishedSpans.filter { $0.operationName == "errand.run probe" }
        try #require(runs.count == 2)
        #expect(runs[0].traceID == order.traceID && runs[0].errors.count == 1)
        #expect(runs[0].status == SpanStatus(code: .error, message: "CircuitUnknown"))
        #expect(runs[0].attributes.get("errand.outcome") == .string("retried"))
        #expect(runs[1].traceID != order.traceID && runs[1].parentSpanID == nil)
        #expect(runs[1].links.map { $0.context.inMemorySpanContext?.spanID } == [order.spanID])
    }

    @Test("a handler's enqueued jobs belong to its attempt, and a given trace is kept")
    func handsOn() async throws {
        let tracer = W3CTracer()
        let given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let handler = ProbeHandler { job, context in
            guard job.step == 0 else { return .done }
            let queue = Queue(database: context.database)
            try await queue.enqueue(Probe(step: 1))
            try await queue.enqueue(Probe(step: 2), .traceparent(given))
            return .done
        }
        try await withTracer(tracer) {
            try await withWorker([handler]) { database, queue in
                try await queue.enqueue(Probe(step: 0))
                #expect(try await database.drains())
            }
        }
        let runs = tracer.finishedSpans
        #expect(runs.count == 3)
        // The span without a parent. The jobs that it enqueued may have finished before it.
        let first = try #require(runs.first { $0.parentSpanID == nil })
        #expect(runs.contains { $0.traceID == first.traceID && $0.parentSpanID == first.spanID })
        #expect(
            runs.contains { $0.traceID == "0af7651916cd43dd8448eb211c80319c" && $0.parentSpanID == "b7ad6b7169203331" })
    }

    @Test("without a tracer, or outside of a span, no trace is stored")
    func none() async throws {
        #expect(InstrumentationSystem.tracerIfAny == nil)
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            try await queue.enqueue(Noop())
            try await withSpan("nobody sees it") { _ in _ = try await queue.enqueue(Noop()) }
            try await withTracer(W3CTracer()) { _ = try await queue.enqueue(Noop()) }
            // A tracer with other fields than W3C's.
            try await withTracer(InMemoryTracer()) {
                try await withSpan("other") { _ in _ = try await queue.enqueue(Noop()) }
            }
            #expect(try await database.count("from errand.job where options is null") == 4)
        }
    }

    @Test(
        "what isn't W3C Trace Context is taken for no trace",
        arguments: [
            "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ])
    func malformed(text: String) {
        #expect(TraceParent(text) == nil)
    }

    struct CircuitUnknown: Error {}
}
