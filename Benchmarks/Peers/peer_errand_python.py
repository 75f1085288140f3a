"""Errand with its Python client: one worker whose handlers are Python, in the process that pulls."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

# As it is in the checkout, and not as it was when the environment was made.
sys.path.insert(0, str(Path(__file__).parents[2] / "clients/python/src"))

import psycopg
from contender import INSERT_ORDER, MAKE_ORDERS, Enqueue, EnqueueMany, Meter, Payload, Peer, main
from errand import AsyncErrand, Request, Worker

JOBS = 10


class ErrandPython(Peer):
    name = "errand_python"
    package = "errand-queue"
    settings = "Worker(concurrency=10) with an async handler, one process (docs/python.md)"
    finished_job_is = "kept"
    unfinished = "select exists (select from errand.job)"
    bulk = "errand.enqueue_many"
    batch = 1_000

    async def setup(self) -> None:
        program = os.environ["ERRAND_BIN"] + "/errand"
        subprocess.run([program, "migrate"], check=True, env={**os.environ, "DATABASE_URL": self.url},
                       stdout=subprocess.DEVNULL)
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
            await connection.execute(MAKE_ORDERS)

    @asynccontextmanager
    async def many(self) -> AsyncIterator[EnqueueMany]:
        async with AsyncErrand(self.url) as errand:

            async def enqueue(jobs: list[Payload]) -> None:
                await errand.enqueue_many([Request("noop", job, queue="bench") for job in jobs])

            yield enqueue

    @asynccontextmanager
    async def one(self, transactional: bool) -> AsyncIterator[Enqueue]:
        async with (
            AsyncErrand(self.url) as errand,
            await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection,
        ):

            async def enqueue(job: Payload) -> None:
                await errand.enqueue("noop", job, queue="bench", connection=connection)

            async def order(job: Payload) -> None:
                async with connection.transaction():
                    await connection.execute(INSERT_ORDER)
                    await enqueue(job)

            yield order if transactional else enqueue

    async def work(self, meter: Meter, stop: asyncio.Event) -> None:
        worker = Worker(concurrency=JOBS)

        @worker.job("noop", queue="bench")
        async def noop(payload: Payload) -> None:
            meter.began(payload)

        thread = threading.Thread(target=worker.run, args=(self.url,))
        thread.start()
        waits = "select exists (select from errand.worker)"
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
            while not await (await connection.execute(waits)).fetchone() == (True,):
                await asyncio.sleep(0.01)
        meter.ready()
        await stop.wait()
        worker.stop()
        await asyncio.to_thread(thread.join)


if __name__ == "__main__":
    main(ErrandPython)
