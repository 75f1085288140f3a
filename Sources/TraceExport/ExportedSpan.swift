import Synchronization
import Tracing

/// A span that is recorded until it ends, and then exported. Changes after its end have no effect.
package final class ExportedSpan: Span {
    /// How many events and links a span has at most; further ones are dropped.
    private static let limit = 32

    package let context: InstrumentationContext
    private let exporter: SpanExporter
    private let state: Mutex<State>

    private struct State {
        var span: FinishedSpan
        var isRecording: Bool
    }

    init(
        _ name: String, in context: InstrumentationContext, _ kind: SpanKind, from start: UInt64,
        to exporter: SpanExporter
    ) {
        let parent = context.span
        let identity = SpanIdentity(childOf: parent)
        var own = context
        own.span = identity
        self.context = own
        self.exporter = exporter
        let span = FinishedSpan(identity: identity, parent: parent?.spanID, name: name, kind: kind, start: start)
        state = Mutex(State(span: span, isRecording: identity.isSampled))
    }

    package var isRecording: Bool { state.withLock { $0.isRecording } }

    package var operationName: String {
        get { state.withLock { $0.span.name } }
        set { change { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { state.withLock { $0.span.attributes } }
        set { change { $0.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    package func addEvent(_ event: SpanEvent) {
        change { span in
            if span.events.count < Self.limit { span.events.append(event) }
        }
    }

    package func addLink(_ link: SpanLink) {
        guard let identity = link.context.span else { return }
        change { span in
            if span.links.count < Self.limit { span.links.append(.init(to: identity, attributes: link.attributes)) }
        }
    }

    /// Records the type of the error, without its text: that may have content of a payload.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = String(reflecting: type(of: error))
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let finished = state.withLock { state -> FinishedSpan? in
            guard state.isRecording else { return nil }
            state.isRecording = false
            state.span.end = instant().nanosecondsSinceEpoch
            return state.span
        }
        if let finished { exporter.add(finished) }
    }

    private func change(_ body: (inout FinishedSpan) -> Void) {
        state.withLock { state in
            if state.isRecording { body(&state.span) }
        }
    }
}

/// What is known of a span when it ends.
struct FinishedSpan: Sendable {
    struct Link: Sendable {
        let to: SpanIdentity
        let attributes: SpanAttributes
    }

    let identity: SpanIdentity
    /// The span that caused this one; nil for the first of a trace.
    let parent: String?
    var name: String
    let kind: SpanKind
    /// In nanoseconds since 1970, as `end`.
    let start: UInt64
    var end: UInt64 = 0
    var attributes: SpanAttributes = [:]
    var events: [SpanEvent] = []
    var links: [Link] = []
    var status: SpanStatus?
}
