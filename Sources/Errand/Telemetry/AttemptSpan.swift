import Tracing

/// The span of one attempt: `errand.run KIND`, with attributes as OpenTelemetry names them for messaging.
///
/// The first attempt joins the trace in which its job was enqueued, as a child of that span. Later ones start traces of
/// their own, which link to it: a trace must not go on for the hours that retries may take.
struct AttemptSpan: Sendable {
    private let span: any Span

    init(of job: ClaimedJob, by tracer: any Tracer) {
        let origin = job.options?.traceparent.flatMap(TraceParent.init)?.context(for: tracer)
        let joins = job.attempt == 1
        // Not the context of the caller's task: that is the worker's, or of whoever started it.
        span = tracer.startAnySpan(
            "errand.run \(job.kind)", context: (joins ? origin : nil) ?? .topLevel, ofKind: .consumer)
        if !joins, let origin { span.addLink(SpanLink(context: origin, attributes: [:])) }
        span.updateAttributes { attributes in
            attributes["messaging.system"] = "errand"
            attributes["messaging.operation.name"] = "run"
            attributes["messaging.operation.type"] = "process"
            attributes["messaging.destination.name"] = job.queue
            attributes["messaging.message.id"] = "\(job.id)"
            attributes["errand.kind"] = job.kind.rawValue
            attributes["errand.attempt"] = job.attempt
            attributes["errand.worker_id"] = job.workerID
        }
    }

    /// Runs `body` with the span around it and ends it: with an error if the attempt failed.
    func around(_ body: (AttemptSpan) async -> AttemptResult) async -> AttemptResult {
        let result = await InstrumentationContext.withValue(span.context) { await body(self) }
        span.updateAttributes { $0["errand.outcome"] = result.outcome.rawValue }
        if result.outcome.isFailure { span.setStatus(SpanStatus(code: .error, message: result.error)) }
        span.end()
        return result
    }

    /// What the handler has thrown.
    func threw(_ error: any Error) { span.recordError(error) }
}
