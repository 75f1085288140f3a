import Tracing

/// The span of one attempt: `errand.run KIND`, with OpenTelemetry's messaging attributes.
///
/// The first attempt joins the trace of its enqueue, as a child of that span. Later attempts start traces of their own
/// that link to it, because retries may take hours.
struct AttemptSpan: Sendable {
    private let span: any Span

    init(of job: ClaimedJob, by tracer: any Tracer) {
        let origin = job.options?.forWorker.traceparent.flatMap(TraceParent.init)?.context(for: tracer)
        let joins = job.attempt == 1
        // Not the context of the caller's task, which is the worker's.
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

    /// Runs `body` within the span, then ends the span: with an error status if the attempt failed.
    func around(_ body: (AttemptSpan) async -> Completion) async -> Completion {
        let completion = await InstrumentationContext.withValue(span.context) { await body(self) }
        span.updateAttributes { $0["errand.outcome"] = completion.outcome.rawValue }
        if completion.outcome.isFailure { span.setStatus(SpanStatus(code: .error, message: completion.shownCause)) }
        span.end()
        return completion
    }

    /// Records the error that the handler threw.
    func threw(_ error: any Error) { span.recordError(error) }
}
