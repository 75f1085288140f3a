"""Traces, if OpenTelemetry is installed: docs/metrics.md has what a span tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .attempt import PulledJob

try:
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    trace = None

#: Takes the outcome of an attempt and, if that failed, the class of its error.
Tell = Callable[[str, str | None], None]


@contextmanager
def span(job: PulledJob) -> Iterator[Tell]:
    """A span of an attempt. The first joins the trace of its enqueue; later ones only link to it, since retries may
    take hours. Texts of errors are left out: they may quote a payload."""
    if trace is None:
        yield lambda outcome, error: None
        return
    origin = TraceContextTextMapPropagator().extract({"traceparent": (job.options or {}).get("traceparent", "")})
    link = trace.get_current_span(origin).get_span_context()
    joins = job.attempt == 1
    with trace.get_tracer("errand").start_as_current_span(
        f"errand.run {job.kind}",
        context=origin if joins else Context(),
        kind=trace.SpanKind.CONSUMER,
        links=[] if joins or not link.is_valid else [trace.Link(link)],
        attributes={
            "messaging.system": "errand",
            "messaging.operation.name": "run",
            "messaging.operation.type": "process",
            "messaging.destination.name": job.queue,
            "messaging.message.id": str(job.id),
            "errand.kind": job.kind,
            "errand.attempt": job.attempt,
        },
    ) as started:

        def tell(outcome: str, error: str | None) -> None:
            started.set_attribute("errand.outcome", outcome)
            if outcome in ("failed", "retried"):
                started.set_status(trace.Status(trace.StatusCode.ERROR, error))

        yield tell


@contextmanager
def spans(jobs: Iterable[PulledJob]) -> Iterator[list[Tell]]:
    """A span of each attempt of a chunk. Spans of the handler are part of the last one's."""
    with ExitStack() as stack:
        yield [stack.enter_context(span(job)) for job in jobs]


def present_trace() -> str | None:
    """The trace that the caller is in, if OpenTelemetry is installed and records."""
    if trace is None:
        return None
    present = trace.get_current_span().get_span_context()
    if not present.is_valid:
        return None
    return f"00-{present.trace_id:032x}-{present.span_id:016x}-{present.trace_flags:02x}"
