"""Chancy: one queue on its executor for asyncio, which claims anew as soon as a job has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

from chancy import Chancy, Queue, Worker, job
from chancy.hub import Event
from psycopg.rows import dict_row

from contender import INSERT_ORDER, MAKE_ORDERS, Enqueue, EnqueueMany, Meter, Payload, Peer, main

QUEUE = "bench"
JOBS = 300
CONNECTIONS = 10


class Running:
    """Where the handler, which Chancy finds by its name, finds what counts it."""

    meter: ClassVar[Meter]


@job(queue=QUEUE)
async def noop(**payload: int | str) -> None:
    Running.meter.began(payload)


class ChancyPeer(Peer):
    name = "chancy"
    package = "chancy"
    settings = ("executor for asyncio, concurrency 300, eager_polling, notifications, pool of 10 "
                "(chancy.Queue, chancy.executors.asyncex.AsyncExecutor)")
    finished_job_is = "kept"
    unfinished = ("select exists (select from chancy_jobs "
                  "where queue = 'bench' and state in ('pending', 'running', 'retrying'))")
    bulk = "one insert a job, many a transaction"
    batch = 1_000

    def chancy(self, connections: int = 1) -> Chancy:
        log = logging.getLogger("chancy")
        log.setLevel(logging.ERROR)
        return Chancy(self.url, min_connection_pool_size=connections, max_connection_pool_size=connections, log=log)

    async def setup(self) -> None:
        async with self.chancy() as chancy:
            await chancy.migrate()
            await chancy.declare(Queue(
                QUEUE, executor=Chancy.Executor.Async, concurrency=JOBS, eager_polling=True), upsert=True)
            async with chancy.pool.connection() as connection:
                await connection.execute(MAKE_ORDERS)

    @asynccontextmanager
    async def many(self) -> AsyncIterator[EnqueueMany]:
        async with self.chancy() as chancy:

            async def enqueue(jobs: list[Payload]) -> None:
                async for _ in chancy.push_many([noop.job.with_kwargs(**payload) for payload in jobs],
                                                batch_size=len(jobs)):
                    pass

            yield enqueue

    @asynccontextmanager
    async def one(self, transactional: bool) -> AsyncIterator[Enqueue]:
        async with self.chancy() as chancy:

            async def enqueue(payload: Payload) -> None:
                await chancy.push(noop.job.with_kwargs(**payload))

            async def order(payload: Payload) -> None:
                async with (
                    chancy.pool.connection() as connection,
                    connection.cursor(row_factory=dict_row) as cursor,
                    connection.transaction(),
                ):
                    await cursor.execute(INSERT_ORDER)
                    await chancy.push_ex(cursor, noop.job.with_kwargs(**payload))

            yield order if transactional else enqueue

    async def work(self, meter: Meter, stop: asyncio.Event) -> None:
        Running.meter = meter

        def started(event: Event) -> None:
            if event.body["queue"].name == QUEUE:
                meter.ready()

        async with self.chancy(CONNECTIONS) as chancy:
            worker = Worker(chancy, register_signal_handlers=False, shutdown_timeout=8)
            worker.hub.on("worker.queue.started", started)
            async with worker:
                await stop.wait()


if __name__ == "__main__":
    main(ChancyPeer)
