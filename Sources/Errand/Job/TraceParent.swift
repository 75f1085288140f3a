import Tracing

/// A trace and the span in it that something belongs to, as W3C Trace Context writes it: `00-TRACE-SPAN-FLAGS`.
struct TraceParent: Sendable {
    let text: String

    /// 32 hex digits, the same for all spans of the trace.
    var traceID: String { String(text.dropFirst(3).prefix(32)) }

    /// Nil for what the database would refuse.
    init?(_ text: String) {
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

    /// That of the span around the caller. Nil outside of any, and with a tracer that doesn't write W3C Trace Context.
    ///
    /// Costs a look at a task-local value where there is no span.
    static var current: TraceParent? {
        guard let context = InstrumentationContext.current, !context.isEmpty else { return nil }
        var fields: [String: String] = [:]
        InstrumentationSystem.instrument.inject(context, into: &fields, using: Fields())
        return fields[key].flatMap(TraceParent.init)
    }

    /// The context that a span with this parent starts from, as `tracer` reads it.
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
    /// The program's tracer; nil where it has bootstrapped none.
    static var tracerIfAny: (any Tracer)? {
        let tracer = tracer
        return tracer is NoOpTracer ? nil : tracer
    }
}
