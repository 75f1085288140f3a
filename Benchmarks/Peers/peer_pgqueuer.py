"""PgQueuer: one queue manager on asyncpg's pool, so that it claims while it logs what has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.ports.driver import NotifyCallback
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from contender import INSERT_ORDER, MAKE_ORDERS, Enqueue, EnqueueMany, Meter, Payload, Peer, first_of, main, text

KIND = "noop"
BATCH = 1_000


class Listening(AsyncpgPoolDriver):
    """The driver, saying that its manager is ready: it listens just before it takes its first jobs."""

    def __init__(self, pool: asyncpg.Pool, meter: Meter) -> None:
        super().__init__(pool)
        self.meter = meter

    async def add_listener(self, channel: str, callback: NotifyCallback) -> None:
        await super().add_listener(channel, callback)
        self.meter.ready()


class PgQueuer(Peer):
    name = "pgqueuer"
    package = "pgqueuer"
    settings = ("asyncpg pool of 4, batch_size 1000, durability durable, pgq autovac, uvloop "
                "(docs/guides/performance-tuning.md, docs/development/benchmark.md)")
    finished_job_is = "deleted, logged"
    unfinished = "select exists (select from pgqueuer)"
    bulk = "insert from unnest of arrays"
    batch = 1_000
    uvloop = True

    async def setup(self) -> None:
        connection = await asyncpg.connect(self.url)
        queries = Queries.from_asyncpg_connection(connection)
        await queries.install()
        await queries.optimize_autovacuum()
        await connection.execute(MAKE_ORDERS)
        await connection.close()

    @asynccontextmanager
    async def many(self) -> AsyncIterator[EnqueueMany]:
        connection = await asyncpg.connect(self.url)
        queries = Queries.from_asyncpg_connection(connection)

        async def enqueue(jobs: list[Payload]) -> None:
            await queries.enqueue([KIND] * len(jobs), [text(job).encode() for job in jobs], [0] * len(jobs))

        yield enqueue
        await connection.close()

    @asynccontextmanager
    async def one(self, transactional: bool) -> AsyncIterator[Enqueue]:
        connection = await asyncpg.connect(self.url)
        queries = Queries.from_asyncpg_connection(connection)

        async def enqueue(job: Payload) -> None:
            await queries.enqueue(KIND, text(job).encode())

        async def order(job: Payload) -> None:
            async with connection.transaction():
                await connection.execute(INSERT_ORDER)
                await enqueue(job)

        yield order if transactional else enqueue
        await connection.close()

    async def work(self, meter: Meter, stop: asyncio.Event) -> None:
        async with asyncpg.create_pool(self.url, min_size=4, max_size=4) as pool:
            manager = QueueManager(Queries(Listening(pool, meter)))

            @manager.entrypoint(KIND)
            async def noop(job: Job) -> None:
                meter.began(job.payload or b"{}")

            run = asyncio.create_task(manager.run(batch_size=BATCH))
            await first_of(stop, [run])
            manager.shutdown.set()
            await run


if __name__ == "__main__":
    main(PgQueuer)
