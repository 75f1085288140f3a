"""Runs jobs on a real worker that exports its spans, and checks the spans that a receiver of OTLP has decoded.

    main.py PROGRAM FOLDER

PROGRAM is `errand`, FOLDER takes its log. ERRAND_CLUSTER_URL is the server.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from receiver import Receiver, attributes

# The trace of an application that enqueues a job.
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
JOBS = 600


def sql(url, statement):
    run = subprocess.run(
        ["psql", url, "-XAtqv", "ON_ERROR_STOP=1", "-c", statement], capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{statement}: {run.stderr}")
    return run.stdout.strip()


def wait(condition, what, limit=60):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit} s: {what}")
        time.sleep(0.1)


def check(receiver, ids):
    """Each job's attempt is one span, with what docs/metrics.md says of it."""
    assert receiver.refused == [], receiver.refused[:3]
    spans = receiver.spans()
    assert len({(span.trace_id, span.span_id) for span, _, _ in spans}) == len(spans), "two spans have one id"
    by_job = {}
    for span, resource, scope in spans:
        assert resource["service.name"] == "shop" and resource["service.instance.id"], resource
        assert scope == "errand", scope
        assert span.name == "errand.run noop" and span.kind == Span.SPAN_KIND_CONSUMER, span
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano < (time.time() + 60) * 1e9, span
        values = attributes(span)
        assert values["messaging.system"] == "errand" and values["messaging.destination.name"] == "default", values
        by_job.setdefault(values["messaging.message.id"], []).append((values["errand.attempt"], span, values))
    assert len(spans) == JOBS + 5, f"expected {JOBS + 5} spans, got {len(spans)}"

    (_, span, values), = by_job[ids["traced"]]
    assert span.trace_id.hex() == TRACE and span.parent_span_id.hex() == PARENT, span
    assert values["errand.outcome"] == "succeeded" and span.status.code != Status.STATUS_CODE_ERROR, span

    first, second = (span for _, span, _ in sorted(by_job[ids["retried"]], key=lambda attempt: attempt[0]))
    assert first.trace_id.hex() == TRACE and second.trace_id.hex() != TRACE and not second.parent_span_id
    link, = second.links
    assert link.trace_id.hex() == TRACE and link.span_id.hex() == PARENT, link

    (_, span, values), = by_job[ids["failed"]]
    assert values["errand.outcome"] == "failed" and span.status.code == Status.STATUS_CODE_ERROR, span
    assert span.status.message == "reported by its handler" and not span.events, span

    (_, span, values), = by_job[ids["thrown"]]
    assert values["errand.outcome"] == "failed" and span.status.code == Status.STATUS_CODE_ERROR, span
    event, = span.events
    assert event.name == "exception" and attributes(event)["exception.type"], event
    assert not any("a-private-text" in str(request) for request in receiver.requests)
    return len(spans), len(receiver.requests)


def main(program, folder):
    url = os.environ["ERRAND_CLUSTER_URL"]
    receiver = Receiver()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ERRAND_", "PG", "OTEL_"))}
    environment = kept | {
        "DATABASE_URL": url, "ERRAND_QUEUES": "default=20", "OTEL_SERVICE_NAME": "shop",
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20secret",
        "ERRAND_LOG_FORMAT": "json"}
    sql(url, "drop schema if exists errand cascade")
    subprocess.run([program, "migrate"], env=environment, check=True, stdout=subprocess.DEVNULL)
    options = json.dumps({"traceparent": f"00-{TRACE}-{PARENT}-01"})
    ids = {
        "traced": sql(url, f"select job_id from errand.enqueue('noop', options => '{options}')"),
        "retried": sql(url, "select job_id from errand.enqueue('noop', '{\"fail\": \"transient\"}', max_attempts => 2,"
                            f" options => '{options}')"),
        "failed": sql(url, "select job_id from errand.enqueue('noop', '{\"fail\": \"permanent\"}')"),
        "thrown": sql(url, "select job_id from errand.enqueue('noop', '{\"fail\": \"a-private-text\"}',"
                           " max_attempts => 1)"),
    }
    sql(url, f"select errand.enqueue('noop') from generate_series(1, {JOBS})")
    with (Path(folder) / "worker.log").open("w") as log:
        worker = subprocess.Popen([program, "worker"], env=environment, stdout=log, stderr=log)
        try:
            wait(lambda: sql(url, "select count(*) from errand.job") == "0", "all jobs end")
        finally:
            # The rest of the spans is sent while it stops.
            worker.terminate()
            worker.wait(20)
    spans, requests = check(receiver, ids)
    assert all(headers["x-key"] == "a secret" for headers in receiver.headers), receiver.headers[:1]
    print(f"{spans} spans in {requests} requests, decoded by OpenTelemetry's protobuf definitions: none refused, "
          "joined, linked and failed as documented")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
