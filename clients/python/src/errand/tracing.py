"""Traces, if OpenTelemetry is installed."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    trace = None


def span(kind: str, id: int, attempt: int, traceparent: str | None) -> AbstractContextManager[Any]:
    """A span of the attempt, in the trace of its enqueue, if OpenTelemetry is installed."""
    if trace is None:
        return nullcontext()
    parent = TraceContextTextMapPropagator().extract({"traceparent": traceparent or ""})
    started: AbstractContextManager[Any] = trace.get_tracer("errand").start_as_current_span(
        kind,
        context=parent,
        kind=trace.SpanKind.CONSUMER,
        attributes={"messaging.message.id": str(id), "errand.attempt": attempt},
    )
    return started


def present_trace() -> str | None:
    """The trace that the caller is in, if OpenTelemetry is installed and records."""
    if trace is None:
        return None
    present = trace.get_current_span().get_span_context()
    if not present.is_valid:
        return None
    return f"00-{present.trace_id:032x}-{present.span_id:016x}-{present.trace_flags:02x}"
