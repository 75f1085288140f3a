"""Clients in several threads, loops and processes, and after their end."""

import asyncio
import multiprocessing
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import psycopg
import pytest
from conftest import becomes
from errand import AsyncErrand, Errand, Worker

worker = Worker(poll=0.2, concurrency=4)


@worker.job("double")
def double(payload: int) -> int:
    return 2 * payload


def test_threads_share_one(errand: Errand, db: psycopg.Connection) -> None:
    def enqueue() -> None:
        for _ in range(20):
            errand.enqueue("threads")

    threads = [threading.Thread(target=enqueue) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.execute("select count(*) from errand.job").fetchone() == (120,)


def in_a_fork(body: Callable[[], Any]) -> Any:
    """What the body returns in a child of this process."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def child(pipe: Connection) -> None:
        try:
            pipe.send(body())
        except Exception as error:
            pipe.send(repr(error))

    process = context.Process(target=child, args=(theirs,))
    process.start()
    assert ours.poll(40), "the child hangs"
    result = ours.recv()
    process.join()
    return result


def test_it_goes_on_in_both_processes_after_a_fork(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    def use() -> list[int]:
        return [job.result(30) for job in [errand.enqueue(double, n, follow=True) for n in range(10)]]

    with running(worker):
        assert use() == list(range(0, 20, 2))
        assert in_a_fork(use) == list(range(0, 20, 2))
        assert use() == list(range(0, 20, 2))


def test_an_async_one_goes_on_in_other_loops_and_processes(app: str, db: psycopg.Connection, running: Any) -> None:
    errand = AsyncErrand(app)

    async def body() -> list[int]:
        jobs = await asyncio.gather(*[errand.enqueue(double, n, follow=True) for n in range(5)])
        return [await job.result(30) for job in jobs]

    def use() -> list[int]:
        return asyncio.run(body())

    with running(worker):
        assert [use(), use(), in_a_fork(use)] == [[0, 2, 4, 6, 8]] * 3
        found: list[list[int]] = []
        threads = [threading.Thread(target=lambda: found.append(use())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [[0, 2, 4, 6, 8]] * 3
    asyncio.run(errand.close())
    connected = "select count(*) from pg_stat_activity where usename = 'python_app' and application_name like 'errand%'"
    becomes(lambda: db.execute(connected).fetchone() == (0,))


def test_closed_it_says_so(app: str, db: psycopg.Connection) -> None:
    errand = Errand(app)
    job = errand.enqueue("closed", follow=True)
    with pytest.raises(TimeoutError):
        job.result(0.1)
    errand.close()
    errand.close()
    for use in (lambda: errand.enqueue("closed"), lambda: job.result(1), job.status):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    with psycopg.connect(app) as connection:
        assert errand.enqueue("closed", connection=connection).inserted

    async def body() -> None:
        closed = AsyncErrand(app)
        await closed.enqueue("closed")
        await closed.close()
        await closed.close()
        with pytest.raises(RuntimeError, match="closed"):
            await closed.enqueue("closed")

    asyncio.run(body())


def test_a_wait_without_a_server_says_why() -> None:
    with Errand("host=127.0.0.1 port=1") as errand, pytest.raises(TimeoutError, match="no connection: .*refused"):
        errand.wait(1, timeout=0.5)


def test_any_number_of_waits_without_a_server_blocks_nobody() -> None:
    async def body() -> None:
        async with AsyncErrand("host=127.0.0.1 port=1") as errand:
            waits = [errand.wait(id, timeout=0.5) for id in range(1, 2001)]
            ends = await asyncio.gather(*waits, return_exceptions=True)
            assert all(isinstance(end, TimeoutError) for end in ends)

    thread = threading.Thread(target=lambda: asyncio.run(body()), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it blocks"
