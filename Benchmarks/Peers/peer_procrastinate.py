"""Procrastinate: one worker with many jobs side by side, each claimed and finished by statements of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.connector import Notify

from contender import INSERT_ORDER, MAKE_ORDERS, Enqueue, EnqueueMany, Meter, Payload, Peer, first_of, main

JOBS = 10
CONNECTIONS = 10

# It warns of tasks that the main program declares, because a worker started from elsewhere would not know them.
logging.getLogger("procrastinate").setLevel(logging.ERROR)


class Listening(PsycopgConnector):
    """The connector, saying that its worker is ready: it begins to listen just before it takes its first jobs."""

    def __init__(self, meter: Meter, url: str, connections: int) -> None:
        super().__init__(conninfo=url, min_size=connections, max_size=connections)
        self.meter = meter

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        self.meter.ready()
        await super().listen_notify(on_notification, channels)


class Procrastinate(Peer):
    name = "procrastinate"
    package = "procrastinate"
    settings = ("psycopg pool of 10, concurrency 10, listen_notify (docs/howto/basics/worker.md, "
                "docs/howto/advanced/connector.md)")
    finished_job_is = "kept"
    # In two halves, because each has an index.
    unfinished = ("select exists (select from procrastinate_jobs where status = 'todo') or "
                  "exists (select from procrastinate_jobs where status = 'doing')")
    bulk = "insert from an array of rows"
    batch = 1_000

    def app(self, connector: PsycopgConnector, meter: Meter | None = None) -> App:
        app = App(connector=connector)

        @app.task(name="noop", queue="bench")
        async def noop(**job: int | str) -> None:
            if meter:
                meter.began(job)

        return app

    async def setup(self) -> None:
        async with self.app(PsycopgConnector(conninfo=self.url)).open_async() as app:
            await app.schema_manager.apply_schema_async()
            await app.connector.execute_query_async(MAKE_ORDERS)

    @asynccontextmanager
    async def many(self) -> AsyncIterator[EnqueueMany]:
        async with self.app(PsycopgConnector(conninfo=self.url, min_size=1, max_size=1)).open_async() as app:

            async def enqueue(jobs: list[Payload]) -> None:
                await app.tasks["noop"].batch_defer_async(*jobs)

            yield enqueue

    @asynccontextmanager
    async def one(self, transactional: bool) -> AsyncIterator[Enqueue]:
        async with (
            self.app(PsycopgConnector(conninfo=self.url, min_size=1, max_size=1)).open_async() as app,
            await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection,
        ):
            noop = app.tasks["noop"]

            async def enqueue(job: Payload) -> None:
                await noop.defer_async(**job)

            async def order(job: Payload) -> None:
                async with connection.transaction():
                    await connection.execute(INSERT_ORDER)
                    await noop.configure(connection=connection).defer_async(**job)

            yield order if transactional else enqueue

    async def work(self, meter: Meter, stop: asyncio.Event) -> None:
        async with self.app(Listening(meter, self.url, CONNECTIONS), meter).open_async() as app:
            run = asyncio.create_task(app.run_worker_async(
                queues=["bench"], concurrency=JOBS, install_signal_handlers=False))
            await first_of(stop, [run])
            run.cancel()
            await asyncio.wait([run])


if __name__ == "__main__":
    main(Procrastinate)
