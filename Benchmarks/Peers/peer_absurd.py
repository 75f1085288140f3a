"""Absurd: a durable workflow whose task has no steps; it polls, because its tables notify nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from absurd_sdk import AsyncAbsurd, AsyncTaskContext
from absurdctl import BUNDLED_SCHEMA_SQL

from contender import INSERT_ORDER, MAKE_ORDERS, Enqueue, EnqueueMany, Meter, Payload, Peer, first_of, main

QUEUE = "bench"
TASKS = 32
POLL_SECONDS = 0.05


class Absurd(Peer):
    name = "absurd"
    package = "absurd-sdk"
    settings = ("concurrency 32, which is also its claim, poll_interval 0.05; schema of absurdctl "
                "(absurd_sdk.AsyncAbsurd.start_worker)")
    finished_job_is = "kept"
    unfinished = "select exists (select from absurd.r_bench where state in ('pending', 'running', 'sleeping'))"
    bulk = "executemany of its function, many a transaction"
    batch = 1_000

    async def connect(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(self.url, autocommit=True)

    async def setup(self) -> None:
        async with await self.connect() as connection:
            await connection.execute(BUNDLED_SCHEMA_SQL)
            await AsyncAbsurd(connection, queue_name=QUEUE).create_queue()
            await connection.execute(MAKE_ORDERS)

    @asynccontextmanager
    async def many(self) -> AsyncIterator[EnqueueMany]:
        async with await self.connect() as connection, connection.cursor() as cursor:

            async def enqueue(jobs: list[Payload]) -> None:
                async with connection.transaction():
                    await cursor.executemany("select task_id from absurd.spawn_task(%s, %s, %s, %s)",
                                             [(QUEUE, "noop", json.dumps(job), "{}") for job in jobs])

            yield enqueue

    @asynccontextmanager
    async def one(self, transactional: bool) -> AsyncIterator[Enqueue]:
        async with await self.connect() as connection:
            absurd = AsyncAbsurd(connection, queue_name=QUEUE)

            async def enqueue(job: Payload) -> None:
                await absurd.spawn("noop", job, queue=QUEUE)

            async def order(job: Payload) -> None:
                async with connection.transaction():
                    await connection.execute(INSERT_ORDER)
                    await enqueue(job)

            yield order if transactional else enqueue

    async def work(self, meter: Meter, stop: asyncio.Event) -> None:
        absurd = AsyncAbsurd(self.url, queue_name=QUEUE)

        @absurd.register_task("noop")
        async def noop(job: Payload, _context: AsyncTaskContext) -> None:
            meter.began(job)

        run = asyncio.create_task(absurd.start_worker(concurrency=TASKS, poll_interval=POLL_SECONDS))
        meter.ready()
        await first_of(stop, [run])
        absurd.stop_worker()
        await run
        await absurd.close()


if __name__ == "__main__":
    main(Absurd)
