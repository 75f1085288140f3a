import Tracing

/// The program's tracer: its spans are exported when they end, and `traceparent` carries their identity.
package struct ExportTracer: Tracer {
    private let exporter: SpanExporter

    package init(_ exporter: SpanExporter) { self.exporter = exporter }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> ExportedSpan {
        let context = context()
        return ExportedSpan(
            operationName, in: context, kind, from: instant().nanosecondsSinceEpoch, to: exporter)
    }

    package func forceFlush() { exporter.flush() }

    package func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.span else { return }
        injector.inject(span.traceparent, forKey: "traceparent", into: &carrier)
    }

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let text = extractor.extract(key: "traceparent", from: carrier),
            let span = SpanIdentity(traceparent: text)
        else { return }
        context.span = span
    }
}
