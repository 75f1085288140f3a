"""What callers use: enqueue in a transaction, and see, wait for and cancel what is one's own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self, Unpack

import psycopg

from .batches import Batch, BatchStatus
from .calls import Call, Row, run, run_async
from .connections import PerLoop, connect, forked
from .errors import JobFailed
from .follower import Follower
from .handlers import Handler
from .jobs import EndedJob, Reason, Request, Schedule, Status, cancellation, many, name_of, signalled
from .middleware import Middleware, encoded
from .options import EnqueueOptions, ScheduleOptions


@dataclass(frozen=True)
class Job:
    """An enqueued job. `inserted` is False if an unfinished job had the unique key: then this is that one."""

    id: int
    inserted: bool
    state: str
    _errand: Errand = field(repr=False, compare=False)

    def result(self, timeout: float) -> Any:
        """Waits until the job has ended, and returns its output. It has to be one of this login's own: follow=True.

        Raises JobFailed if it failed or was cancelled, NotFound if it is not one's own, TimeoutError.
        """
        return output_of(self.wait(timeout))

    def wait(self, timeout: float) -> EndedJob:
        """The same, but returns how it ended, and raises nothing if it failed."""
        return self._errand.wait(self.id, timeout)

    def cancel(self, reason: str) -> bool:
        """Cancels it. Returns False if it had ended already, or is not one's own."""
        return self._errand.cancel([self.id], reason) == 1

    def status(self) -> Status | None:
        """How it stands; None if it is not one's own, or was pruned."""
        return self._errand.job(self.id)

    def explain(self) -> list[Reason]:
        """Why it isn't running."""
        return self._errand.explain(self.id)


def output_of(end: EndedJob) -> Any:
    if end.state != "succeeded":
        raise JobFailed(end)
    return end.output


class Errand:
    """Enqueues jobs and follows them.

    With a `connection` of psycopg, SQLAlchemy or Django a call is part of the transaction that it is in. Without one it
    commits by itself, on a connection that this object opens by its conninfo.

    `middleware` encodes payloads as the workers' middleware decodes them.
    """

    def __init__(self, conninfo: str = "", middleware: Sequence[Middleware] = ()) -> None:
        self.conninfo = conninfo
        self.middleware = middleware
        self._is_closed = False
        self._start()
        forked.add(self)

    def _start(self) -> None:
        """Starts without connections, also after a fork: those of the other process are not to be used, nor closed."""
        self._lock = threading.Lock()
        self._own: psycopg.Connection | None = None
        self._follower: Follower | None = None

    def enqueue(
        self, kind: str | Handler, payload: Any = None, *, connection: Any = None, **options: Unpack[EnqueueOptions]
    ) -> Job:
        """Enqueues a job: errand.enqueue explains the options. Raises Invalid, TooLarge, NotFound or Conflict."""
        stored = encoded(self.middleware, name_of(kind), payload)
        [(id, inserted, state)] = self._run(Request.of(kind, stored, options).call, connection)
        return Job(id, inserted, state, self)

    def enqueue_many(self, requests: Sequence[Request], *, connection: Any = None) -> list[Job]:
        """Enqueues up to 100,000 jobs in one statement, all or none."""
        rows = self._run(many(requests, self.middleware), connection) if requests else []
        return [Job(id, inserted, state, self) for id, inserted, state in rows]

    def job(self, id: int | None = None, *, unique_key: str | None = None, connection: Any = None) -> Status | None:
        """A job of one's own, by its id or its unique key."""
        return Status.read(self._run(Status.call(id, unique_key), connection))

    def wait(self, id: int, timeout: float) -> EndedJob:
        """Waits until a job of one's own has ended. Raises NotFound if there is none, and TimeoutError."""
        follower = self._following()
        future = follower.end(id)
        try:
            return future.result(timeout)
        except FutureTimeout:
            future.cancel()
            raise follower.timeout(id, timeout) from None

    def cancel(self, ids: Sequence[int], reason: str, *, connection: Any = None) -> int:
        """Cancels jobs of one's own. Returns how many had not ended before."""
        return cancelled(self._run(cancellation(ids, reason), connection))

    def open_batch(
        self, name: str, *, on_success: Request | None = None, on_finish: Request | None = None,
        on_failure: Request | None = None, properties: Mapping[str, Any] | None = None, connection: Any = None,
    ) -> Batch:
        """Opens a batch of jobs; the requests are enqueued once it has ended, or the first job has failed:
        errand.batch_open explains them."""
        call = Batch.opening(name, on_success, on_finish, on_failure, properties, self.middleware)
        [[id]] = self._run(call, connection)
        return Batch(id)

    def close_batch(self, batch: int | Batch, *, connection: Any = None) -> bool:
        """Says that a batch is complete: it ends once none of its jobs is left. Returns whether it was open."""
        [[was_open]] = self._run(Batch.closing(batch), connection)
        return bool(was_open)

    def batch_status(self, batch: int | Batch, *, connection: Any = None) -> BatchStatus:
        """How far a batch is."""
        return BatchStatus.read(self._run(BatchStatus.call(batch), connection))

    def cancel_batch(self, batch: int | Batch, reason: str, *, connection: Any = None) -> int:
        """Cancels the jobs of a batch that have not ended. Returns how many there were. Close it first, or it goes on
        with those that come later."""
        return self._change_batch("cancel", batch, reason, connection)

    def retry_batch(self, batch: int | Batch, reason: str, *, connection: Any = None) -> int:
        """Retries the jobs of a batch that failed or were cancelled. Returns how many there were. Its callbacks come
        once all the same."""
        return self._change_batch("retry", batch, reason, connection)

    def _change_batch(self, what: str, batch: int | Batch, reason: str, connection: Any) -> int:
        changed = 0
        while count := self._run(Batch.changing(what, batch, reason), connection)[0][0]:
            changed += count
        return changed

    def signal(self, name: str, payload: Any = None, *, connection: Any = None) -> bool:
        """Wakes the jobs that wait for this name, and those that will within 7 days: errand.signal. Returns False if
        this login has sent such a signal already: that one counts."""
        [[is_first]] = self._run(signalled(name, payload), connection)
        return bool(is_first)

    def explain(self, id: int, *, connection: Any = None) -> list[Reason]:
        """Why a job of one's own isn't running, what holds it back most first."""
        return Reason.read(self._run(Reason.call(id), connection))

    def put_schedule(
        self, name: str, cron: str, kind: str | Handler, payload: Any = None, *, connection: Any = None,
        **options: Unpack[ScheduleOptions],
    ) -> str:
        """Creates or changes a schedule of one's own: errand.put_own_schedule explains the arguments. Returns created,
        changed or unchanged."""
        stored = encoded(self.middleware, name_of(kind), payload)
        [[response]] = self._run(Schedule.put(name, cron, kind, stored, options), connection)
        return str(response)

    def schedules(self, *, connection: Any = None) -> list[Schedule]:
        """The schedules of one's own, with their last ticks."""
        return Schedule.read(self._run(Schedule.all(), connection))

    def pause_schedule(self, name: str, reason: str, *, connection: Any = None) -> None:
        self._run(Schedule.change("pause", name, reason), connection)

    def resume_schedule(self, name: str, *, connection: Any = None) -> None:
        self._run(Schedule.change("resume", name, None), connection)

    def drop_schedule(self, name: str, *, connection: Any = None) -> None:
        self._run(Schedule.change("drop", name, None), connection)

    def close(self) -> None:
        """Closes its connections. What has a connection of the caller's still works."""
        with self._lock:
            self._is_closed = True
            if self._own is not None:
                self._own.close()
        if self._follower is not None:
            self._follower.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _following(self) -> Follower:
        with self._lock:
            check_open(self._is_closed)
            if self._follower is None:
                self._follower = Follower(self.conninfo)
            return self._follower

    def _run(self, call: Call, connection: Any) -> list[Row]:
        if connection is not None:
            return run(connection, call)
        with self._connection() as own:
            return run(own, call)

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
        with self._lock:
            check_open(self._is_closed)
            if self._own is None or self._own.closed:
                self._own = connect(self.conninfo, "errand")
            yield self._own


def check_open(is_closed: bool) -> None:
    if is_closed:
        raise RuntimeError("this client is closed")


def cancelled(rows: list[Row]) -> int:
    return sum(was != now for _, was, now in rows)


@dataclass(frozen=True)
class AsyncJob:
    """An enqueued job, as Job is."""

    id: int
    inserted: bool
    state: str
    _errand: AsyncErrand = field(repr=False, compare=False)

    async def result(self, timeout: float) -> Any:
        """Waits until the job has ended, and returns its output: Job.result."""
        return output_of(await self.wait(timeout))

    async def wait(self, timeout: float) -> EndedJob:
        return await self._errand.wait(self.id, timeout)

    async def cancel(self, reason: str) -> bool:
        return await self._errand.cancel([self.id], reason) == 1

    async def status(self) -> Status | None:
        return await self._errand.job(self.id)

    async def explain(self) -> list[Reason]:
        return await self._errand.explain(self.id)


class AsyncErrand:
    """Enqueues jobs and follows them, as Errand does, with connections of psycopg, asyncpg or SQLAlchemy.

    Without a connection, each event loop has one of its own.
    """

    def __init__(self, conninfo: str = "", middleware: Sequence[Middleware] = ()) -> None:
        self.conninfo = conninfo
        self.middleware = middleware
        self._is_closed = False
        self._start()
        forked.add(self)

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._owns = PerLoop(self.conninfo)
        self._follower: Follower | None = None

    async def enqueue(
        self, kind: str | Handler, payload: Any = None, *, connection: Any = None, **options: Unpack[EnqueueOptions]
    ) -> AsyncJob:
        stored = encoded(self.middleware, name_of(kind), payload)
        [(id, inserted, state)] = await self._run(Request.of(kind, stored, options).call, connection)
        return AsyncJob(id, inserted, state, self)

    async def enqueue_many(self, requests: Sequence[Request], *, connection: Any = None) -> list[AsyncJob]:
        rows = await self._run(many(requests, self.middleware), connection) if requests else []
        return [AsyncJob(id, inserted, state, self) for id, inserted, state in rows]

    async def job(
        self, id: int | None = None, *, unique_key: str | None = None, connection: Any = None
    ) -> Status | None:
        return Status.read(await self._run(Status.call(id, unique_key), connection))

    async def wait(self, id: int, timeout: float) -> EndedJob:
        with self._lock:
            check_open(self._is_closed)
            follower = self._follower = self._follower or Follower(self.conninfo)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(follower.end(id)), timeout)
        except TimeoutError:
            raise follower.timeout(id, timeout) from None

    async def cancel(self, ids: Sequence[int], reason: str, *, connection: Any = None) -> int:
        return cancelled(await self._run(cancellation(ids, reason), connection))

    async def open_batch(
        self, name: str, *, on_success: Request | None = None, on_finish: Request | None = None,
        on_failure: Request | None = None, properties: Mapping[str, Any] | None = None, connection: Any = None,
    ) -> Batch:
        call = Batch.opening(name, on_success, on_finish, on_failure, properties, self.middleware)
        [[id]] = await self._run(call, connection)
        return Batch(id)

    async def close_batch(self, batch: int | Batch, *, connection: Any = None) -> bool:
        [[was_open]] = await self._run(Batch.closing(batch), connection)
        return bool(was_open)

    async def batch_status(self, batch: int | Batch, *, connection: Any = None) -> BatchStatus:
        return BatchStatus.read(await self._run(BatchStatus.call(batch), connection))

    async def cancel_batch(self, batch: int | Batch, reason: str, *, connection: Any = None) -> int:
        return await self._change_batch("cancel", batch, reason, connection)

    async def retry_batch(self, batch: int | Batch, reason: str, *, connection: Any = None) -> int:
        return await self._change_batch("retry", batch, reason, connection)

    async def _change_batch(self, what: str, batch: int | Batch, reason: str, connection: Any) -> int:
        changed = 0
        while count := (await self._run(Batch.changing(what, batch, reason), connection))[0][0]:
            changed += count
        return changed

    async def signal(self, name: str, payload: Any = None, *, connection: Any = None) -> bool:
        [[is_first]] = await self._run(signalled(name, payload), connection)
        return bool(is_first)

    async def explain(self, id: int, *, connection: Any = None) -> list[Reason]:
        return Reason.read(await self._run(Reason.call(id), connection))

    async def put_schedule(
        self, name: str, cron: str, kind: str | Handler, payload: Any = None, *, connection: Any = None,
        **options: Unpack[ScheduleOptions],
    ) -> str:
        stored = encoded(self.middleware, name_of(kind), payload)
        [[response]] = await self._run(Schedule.put(name, cron, kind, stored, options), connection)
        return str(response)

    async def schedules(self, *, connection: Any = None) -> list[Schedule]:
        return Schedule.read(await self._run(Schedule.all(), connection))

    async def pause_schedule(self, name: str, reason: str, *, connection: Any = None) -> None:
        await self._run(Schedule.change("pause", name, reason), connection)

    async def resume_schedule(self, name: str, *, connection: Any = None) -> None:
        await self._run(Schedule.change("resume", name, None), connection)

    async def drop_schedule(self, name: str, *, connection: Any = None) -> None:
        await self._run(Schedule.change("drop", name, None), connection)

    async def close(self) -> None:
        with self._lock:
            self._is_closed = True
        self._owns.close()
        if self._follower is not None:
            await asyncio.to_thread(self._follower.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, call: Call, connection: Any) -> list[Row]:
        if connection is not None:
            return await run_async(connection, call)
        check_open(self._is_closed)
        async with self._owns.connection() as own:
            return await run_async(own, call)
