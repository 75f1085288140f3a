"""Spans of attempts, where OpenTelemetry is installed, as scripts/test-python.sh does."""

from typing import Any

import psycopg
import pytest
from errand import ChunkJob, Errand, Permanent, Request, Worker

pytest.importorskip("opentelemetry.sdk")
from opentelemetry import trace  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
worker = Worker(poll=0.2, concurrency=1)


@worker.job("traced", queue="traced", max_attempts=2, retry=[0.01])
def traced(payload: str) -> None:
    with trace.get_tracer("test").start_as_current_span("within"):
        if payload == "fails":
            raise KeyError("a secret of the payload")


@worker.job("traced_async", queue="traced")
async def traced_async(payload: Any) -> None:
    raise Permanent("a secret")


@worker.chunk("traced_chunk", size=3, within=60, queue="traced")
def traced_chunk(jobs: list[ChunkJob[Any]]) -> list[Any]:
    return [None, Permanent("a secret"), "output"]


def test_an_attempt_is_a_span_of_its_enqueues_trace(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    with trace.get_tracer("test").start_as_current_span("request") as request:
        jobs = [
            errand.enqueue(traced, "works", follow=True), errand.enqueue(traced_async, follow=True),
            *errand.enqueue_many([Request(traced, "fails", follow=True)]),
        ]
    with running(worker):
        assert [job.wait(30).state for job in jobs] == ["succeeded", "failed", "failed"]
    origin = request.get_span_context()
    spans = [span for span in exporter.get_finished_spans() if span.name.startswith("errand.run ")]
    told = {(span.attributes["messaging.message.id"], span.attributes["errand.attempt"]): span for span in spans}
    works, permanent, first, second = (
        told[str(job.id), attempt] for job, attempt in [(jobs[0], 1), (jobs[1], 1), (jobs[2], 1), (jobs[2], 2)])
    assert {span.parent.span_id for span in (works, permanent, first)} == {origin.span_id}
    assert second.parent is None and [link.context.trace_id for link in second.links] == [origin.trace_id]
    outcomes = [(span.attributes["errand.outcome"], span.status.description) for span in (works, permanent, first, second)]
    assert outcomes == [
        ("succeeded", None), ("failed", "Permanent"), ("retried", "KeyError"), ("failed", "KeyError")]
    assert works.name == "errand.run traced" and works.attributes["messaging.destination.name"] == "traced"
    assert "secret" not in "".join(span.to_json() for span in spans)
    within = [span for span in exporter.get_finished_spans() if span.name == "within"]
    assert within[0].parent.span_id == works.get_span_context().span_id


def test_each_job_of_a_chunk_has_a_span(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    with trace.get_tracer("test").start_as_current_span("request") as request:
        jobs = errand.enqueue_many([Request(traced_chunk, number, follow=True) for number in range(3)])
    with running(worker):
        assert [job.wait(30).state for job in jobs] == ["succeeded", "failed", "succeeded"]
    spans = [span for span in exporter.get_finished_spans() if span.name == "errand.run traced_chunk"]
    told = {span.attributes["messaging.message.id"]: span for span in spans}
    assert [(told[str(job.id)].attributes["errand.outcome"], told[str(job.id)].status.description) for job in jobs] == [
        ("succeeded", None), ("failed", "Permanent"), ("succeeded", None)]
    assert {span.parent.span_id for span in spans} == {request.get_span_context().span_id}
