"""Awa: handlers in Python on its runtime in Rust, which claims and finishes in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import awa

from contender import INSERT_ORDER, MAKE_ORDERS, Enqueue, EnqueueMany, Meter, Payload, Peer, main

KIND = "noop"
QUEUE = "bench"
WORKERS = {"name": QUEUE, "max_workers": 1_024, "claimers": 2, "claim_batch_size": 512}
CONNECTIONS = 30


@dataclass
class Noop:
    """The payload as a handler gets it; its kind is its name in snake case."""

    fill: str
    t: int | None = None


class Awa(Peer):
    name = "awa"
    package = "awa-pg"
    settings = ("queue storage, 1,024 workers, 2 claimers, claim_batch_size 512, pool of 30 "
                "(awa.AsyncClient.start, install_queue_storage and enqueue_many_copy)")
    finished_job_is = "kept, compact"
    # Its view of all jobs takes seconds if many are finished. Each queue and priority has a sequence of enqueued jobs and
    # one of claimed jobs, and each batch has its count of claimed or completed jobs.
    unfinished = ("""select exists (
        select from awa.queue_enqueue_heads as enqueued
        join awa.queue_claim_heads as claimed using (queue, priority, enqueue_shard)
        where coalesce(pg_sequence_last_value(('awa.' || enqueued.seq_name)::regclass), 0)
            > coalesce(pg_sequence_last_value(('awa.' || claimed.seq_name)::regclass), 0)
    ) or coalesce((select sum(claimed_count) from awa.ready_claim_attempt_batches), 0)
        > coalesce((select sum(completed_count) from awa.receipt_completion_batches), 0)""")
    bulk = "COPY"
    batch = 1_000

    def client(self, connections: int) -> awa.AsyncClient:
        # Its driver wants a host in the URL, even where the parameter `host` names the folder of a socket.
        parts = urlsplit(self.url)
        if not parts.hostname:
            parts = parts._replace(netloc=f"{parts.netloc}localhost")
        return awa.AsyncClient(urlunsplit(parts), max_connections=connections)

    async def setup(self) -> None:
        async with self.client(1) as client:
            await client.migrate()
            await client.install_queue_storage()
        connection = await asyncpg.connect(self.url)
        await connection.execute(MAKE_ORDERS)
        await connection.close()

    @asynccontextmanager
    async def many(self) -> AsyncIterator[EnqueueMany]:
        async with self.client(2) as client:

            async def enqueue(jobs: list[Payload]) -> None:
                await client.enqueue_many_copy(jobs, kind=KIND, queue=QUEUE)

            yield enqueue

    @asynccontextmanager
    async def one(self, transactional: bool) -> AsyncIterator[Enqueue]:
        async with self.client(1) as client:

            async def enqueue(job: Payload) -> None:
                await client.insert(job, kind=KIND, queue=QUEUE)

            async def order(job: Payload) -> None:
                async with await client.transaction() as transaction:
                    await transaction.execute(INSERT_ORDER)
                    await transaction.insert(job, kind=KIND, queue=QUEUE)

            yield order if transactional else enqueue

    async def work(self, meter: Meter, stop: asyncio.Event) -> None:
        client = self.client(CONNECTIONS)

        @client.task(Noop, queue=QUEUE)
        async def noop(job: awa.Job[Noop]) -> None:
            meter.began(vars(job.args))

        await client.start([WORKERS])
        meter.ready()
        await stop.wait()
        await client.shutdown(timeout_ms=8_000)
        await client.close()


if __name__ == "__main__":
    main(Awa)
