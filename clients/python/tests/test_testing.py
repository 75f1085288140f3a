"""The test kit."""

from typing import Any

import psycopg
import pytest
from errand import Context, Errand, Snooze, Wait, Worker
from errand.testing import TestQueue

shop = Worker()


@shop.job("welcome", queue="mail", max_attempts=3, retry=[60])
def welcome(payload: dict[str, Any]) -> None:
    if payload.get("fails"):
        raise ValueError("no")


@shop.job("remind", queue="mail")
async def remind(payload: dict[str, Any]) -> str:
    if payload.get("early"):
        raise Snooze(60)
    return "reminded"


@shop.job("ask", queue="mail")
def ask(payload: dict[str, Any], context: Context) -> Any:
    if context.signal is None:
        raise Wait("decision", timeout=3600)
    return context.signal.payload if context.signal.has_come else "nobody decided"


@pytest.fixture
def queue(owner: str, db: psycopg.Connection) -> TestQueue:
    return TestQueue(owner, shop)


def test_drain_runs_what_is_due(queue: TestQueue, errand: Errand) -> None:
    errand.enqueue(welcome, {"to": "a"})
    errand.enqueue(remind, {"to": "b"}, delay=3600)
    assert [(ran.job.kind, ran.outcome) for ran in queue.drain()] == [("welcome", "succeeded")]
    queue.expect_enqueued("remind", {"to": "b"})
    with pytest.raises(AssertionError, match="welcome: expected 1, got 0; enqueued: remind"):
        queue.expect_enqueued("welcome")
    queue.advance(3600)
    [ran] = queue.drain()
    assert (ran.outcome, ran.output) == ("succeeded", '"reminded"')


def test_within_a_time_retries_run_too(queue: TestQueue, errand: Errand) -> None:
    errand.enqueue(welcome, {"fails": True})
    errand.enqueue("another_kind")
    assert [ran.outcome for ran in queue.drain()] == ["retried"]
    ran = queue.drain(within=3600)
    assert [one.outcome for one in ran] == ["retried", "failed"]
    assert ran[-1].error == "ValueError: no"
    queue.expect_enqueued("another_kind")
    with queue.empty():
        queue.expect_enqueued("another_kind", count=0)


def test_within_a_time_waits_for_signals_end_too(queue: TestQueue, errand: Errand) -> None:
    errand.enqueue(ask)
    assert [ran.outcome for ran in queue.drain(within=3500)] == ["waiting"]
    [ran] = queue.drain(within=3700)
    assert (ran.outcome, ran.output) == ("succeeded", '"nobody decided"')


def test_signals_of_one_test_do_not_come_in_the_next(queue: TestQueue, errand: Errand) -> None:
    for choice in ("yes", "no"):
        with queue.empty():
            errand.enqueue(ask, follow=True)
            assert [ran.outcome for ran in queue.drain()] == ["waiting"]
            assert errand.signal("decision", choice)
            [ran] = queue.drain()
            assert ran.output == f'"{choice}"'


def test_a_job_that_enqueues_itself_for_ever_is_stopped(queue: TestQueue, errand: Errand, app: str) -> None:
    again = Worker()

    @again.job("again")
    def enqueue_again(payload: Any) -> None:
        errand.enqueue("again")

    errand.enqueue("again")
    with pytest.raises(RuntimeError, match="got 5 attempts"):
        TestQueue(queue.conninfo, again).drain(limit=5)
