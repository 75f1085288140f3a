import Tracing

/// A trace and a span of it, in W3C Trace Context format: `00-TRACE-SPAN-FLAGS`.
package struct TraceParent: Sendable {
    package let text: String

    /// 32 hex digits, the same for all spans of the trace.
    var traceID: String { String(text.dropFirst(3).prefix(32)) }

    /// Nil for a text that the database would refuse.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isHex = parts.allSatisfy { $0.allSatisfy { Self.digits.contains($0) } }
        guard parts.map(\.count) == [2, 32, 16, 2], isHex else { return nil }
        self.text = text
    }

    private static let digits = Set("0123456789abcdef".utf8)
}

// MARK: - From and to a tracer
extension TraceParent {
    private static let key = "traceparent"

    /// The trace parent of the caller's span. Nil outside of a span, and with a tracer that doesn't write W3C Trace
    /// Context.
    ///
    /// Without a span it only reads a task-local value.
    static var current: TraceParent? {
        guard let context = InstrumentationContext.current, !context.isEmpty else { return nil }
        var fields: [String: String] = [:]
        InstrumentationSystem.instrument.inject(context, into: &fields, using: Fields())
        return fields[key].flatMap(TraceParent.init)
    }

    /// The context in which a span with this parent starts.
    func context(for tracer: any Tracer) -> InstrumentationContext {
        var context = InstrumentationContext.topLevel
        tracer.extract([Self.key: text], into: &context, using: Fields())
        return context
    }

    private struct Fields: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into fields: inout [String: String]) {
            fields[key.lowercased()] = value
        }

        func extract(key: String, from fields: [String: String]) -> String? { fields[key.lowercased()] }
    }
}

extension InstrumentationSystem {
    /// The program's tracer; nil if none was bootstrapped.
    static var tracerIfAny: (any Tracer)? {
        let tracer = tracer
        return tracer is NoOpTracer ? nil : tracer
    }
}
