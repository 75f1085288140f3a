"""Oban for Python: one node with one queue, whose limit is also the number of jobs of one claim."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

try:
    from oban import Oban, worker
    from oban.job import Job
    from oban.schema import install
except ImportError:
    sys.exit("oban: is not here; it needs Python 3.12 or newer")

from contender import INSERT_ORDER, MAKE_ORDERS, Enqueue, EnqueueMany, Meter, Payload, Peer, main

LIMIT = 100
CONNECTIONS = 10


@worker(queue="bench")
class Noop:
    meter: ClassVar[Meter]

    async def process(self, job: Job) -> None:
        self.meter.began(job.args)


class ObanForPython(Peer):
    name = "oban"
    package = "oban"
    settings = ("pool of 10, queue limit 100, postgres notifier, uvloop as its own command line has it "
                "(Oban.__init__, Oban.create_pool, oban/cli.py)")
    finished_job_is = "kept"
    unfinished = ("select exists (select from oban_jobs "
                  "where state in ('available', 'executing', 'scheduled', 'retryable'))")
    bulk = "one insert a job, many a transaction"
    batch = 1_000
    uvloop = True

    async def setup(self) -> None:
        pool = await Oban.create_pool(self.url, min_size=1, max_size=1)
        await install(pool)
        async with pool.connection() as connection:
            await connection.execute(MAKE_ORDERS)
        await pool.close()

    @asynccontextmanager
    async def many(self) -> AsyncIterator[EnqueueMany]:
        pool = await Oban.create_pool(self.url, min_size=1, max_size=1)
        oban = Oban(pool=pool)

        async def enqueue(jobs: list[Payload]) -> None:
            await oban.enqueue_many(Noop.new(job) for job in jobs)

        yield enqueue
        await pool.close()

    @asynccontextmanager
    async def one(self, transactional: bool) -> AsyncIterator[Enqueue]:
        pool = await Oban.create_pool(self.url, min_size=1, max_size=1)
        oban = Oban(pool=pool)

        async def enqueue(job: Payload) -> None:
            await oban.enqueue(Noop.new(job))

        async def order(job: Payload) -> None:
            async with pool.connection() as connection:
                await connection.execute(INSERT_ORDER)
                await oban.enqueue(Noop.new(job), conn=connection)

        yield order if transactional else enqueue
        await pool.close()

    async def work(self, meter: Meter, stop: asyncio.Event) -> None:
        Noop.meter = meter
        pool = await Oban.create_pool(self.url, min_size=CONNECTIONS, max_size=CONNECTIONS)
        async with Oban(pool=pool, queues={"bench": LIMIT}):
            meter.ready()
            await stop.wait()
        await pool.close()


if __name__ == "__main__":
    main(ObanForPython)
