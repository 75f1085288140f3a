"""Batches of jobs."""

import asyncio
from typing import Any

import psycopg
import pytest
from conftest import becomes
from errand import AsyncErrand, Conflict, Context, Errand, NotFound, Request, Worker
from handlers import add


def test_a_callback_comes_once_after_all_jobs_of_a_batch_also_those_that_jobs_add(
    errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    worker = Worker(concurrency=4, poll=0.2)
    seen: list[dict[str, Any]] = []

    @worker.job("grow")
    def grow(depth: int, context: Context) -> None:
        if depth > 0:
            errand.enqueue_many([Request("grow", depth - 1, batch=context.batch) for _ in range(2)])

    @worker.job("report")
    def report(payload: dict[str, Any], context: Context) -> None:
        assert context.batch is None
        seen.append(payload)

    batch = errand.open_batch("b", on_finish=Request("report", {"n": 1}), properties={"file": 7})
    errand.enqueue(grow, 3, batch=batch)
    assert errand.close_batch(batch)
    assert not errand.close_batch(batch.id)
    with running(worker):
        becomes(lambda: seen)
        becomes(lambda: db.execute("select from errand.history where kind = 'report'").fetchall())
    assert [payload["n"] for payload in seen] == [1]
    assert seen[0]["batch"]["total"] == 15
    assert seen[0]["batch"]["properties"] == {"file": 7}
    status = errand.batch_status(batch)
    assert (status.state, status.outcome, status.progress) == ("ended", "succeeded", 1)
    with pytest.raises(Conflict, match="has not ended"):
        errand.enqueue(add, 1, batch=batch)


def test_the_jobs_of_a_batch_are_cancelled_and_retried(errand: Errand, db: psycopg.Connection) -> None:
    batch = errand.open_batch("b")
    errand.enqueue_many([Request(add, n, batch=batch) for n in range(3)])
    assert errand.cancel_batch(batch, "wrong file") == 3
    assert errand.batch_status(batch).cancelled == 3
    assert errand.retry_batch(batch, "right file") == 3
    assert errand.retry_batch(batch, "right file") == 0
    assert errand.batch_status(batch).waiting == 3
    with pytest.raises(NotFound, match="this login may use"):
        errand.batch_status(1 << 40)


def test_batches_with_asyncio(app: str, db: psycopg.Connection) -> None:
    async def run() -> None:
        async with AsyncErrand(app) as errand:
            batch = await errand.open_batch("b")
            await errand.enqueue(add, 1, batch=batch)
            assert await errand.close_batch(batch)
            assert (await errand.batch_status(batch)).total == 1
            assert await errand.cancel_batch(batch, "x") == 1
            assert await errand.retry_batch(batch, "x") == 1

    asyncio.run(run())
