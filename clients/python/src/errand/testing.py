"""A test kit: run what is enqueued without a worker, look for jobs, and let time pass.

It reads and changes the queue's tables, so its login has to own them: use a database of the tests' own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg

from .attempt import Context, Ended, PulledJob, run_coroutine, run_sync, told
from .calls import as_json, run
from .chunk import key_of, run_chunk, run_chunk_coroutine
from .connections import connect
from .jobs import Seconds, interval
from .pulls import pull_call, pulled, register
from .transactions import Transactions
from .worker import Worker

_DUE = """
    select distinct queue
    from errand.job
    where kind = any (%s) and state = 'available'
        and not exists (select from errand.queue as known where known.name = queue and known.paused_at is not null)
"""

#: Jobs for later, and those whose time to wait for a signal ends.
_NEXT_DUE = """
    select min(due) - now()
    from (
        select run_at as due
        from errand.job
        where kind = any (%(kinds)s) and state = 'scheduled' and isfinite(run_at)
        union all
        select until
        from errand.signal_wait as waits
        join errand.job on id = job_id and parked_for = 'signal:' || waits.name
        where kind = any (%(kinds)s)
    ) as next
"""

_ADVANCE = (
    """
    update errand.job
    set created_at = created_at - %(time)s, run_at = run_at - %(time)s, not_after = not_after - %(time)s,
        started_at = started_at - %(time)s
    """,
    "update errand.signal_wait set until = until - %(time)s",
    "update errand.rate_reservation set start_at = start_at - %(time)s",
    "update errand.rate_clock set tat = tat - extract(epoch from %(time)s)",
    "update errand.queue set paused_at = paused_at - %(time)s, paused_until = paused_until - %(time)s",
    """
    update errand.circuit
    set opened_at = opened_at - %(time)s, until = until - %(time)s, failing_since = failing_since - %(time)s,
        failed_at = failed_at - %(time)s, closed_at = closed_at - %(time)s, released_at = released_at - %(time)s
    """,
)


@dataclass(frozen=True)
class Ran:
    """An attempt that a drain has made."""

    job: PulledJob
    #: succeeded, retried, failed, snoozed, waiting or released.
    outcome: str
    error: str | None
    #: What the handler returned, as JSON.
    output: str | None


@dataclass(frozen=True)
class _Reports:
    """What handlers have reported, the last for each token."""

    last: dict[str, tuple[float | None, str | None]] = field(default_factory=dict)

    def report(self, token: str, progress: float | None, message: str | None, output: str | None) -> None:
        self.last[token] = (progress, message)


class TestQueue:
    """The queue of a test's database, and a worker whose handlers a drain runs in this thread."""

    __test__ = False  # no test of pytest

    def __init__(self, conninfo: str, worker: Worker) -> None:
        self.conninfo = conninfo
        self.worker = worker

    def drain(self, within: Seconds = 0, limit: int = 10_000) -> list[Ran]:
        """Runs all due jobs, including those that they enqueue, until none is due. Returns every attempt.

        Time stands still: a retry after its delay stays. With `within`, so much time passes, from one due time to the
        next. Raises RuntimeError after `limit` attempts: a job enqueues itself for ever.

        Jobs for a handler of many at once run in chunks of those that are due together, at most 100.
        """
        self.worker.check()
        ran: list[Ran] = []
        rest = interval(within)
        kinds = sorted(self.worker.handlers)
        register(self.conninfo, list(self.worker.handlers.values()))
        with connect(self.conninfo, "errand test") as connection:
            worker_id: str | None = None
            self._promote(connection)
            while True:
                queues = [name for (name,) in connection.execute(_DUE, [kinds])]
                jobs: list[PulledJob] = []
                if queues:
                    rows = run(connection, pull_call(queues, kinds, 100, worker_id, 3600, 100, "test", listens=False))
                    worker_id = str(rows[0][0])
                    jobs = [pulled(row) for row in rows if row[1] is not None]
                for one in self._run(connection, jobs):
                    ran.append(one)
                    if len(ran) >= limit:
                        raise RuntimeError(f"expected an end of the jobs, got {limit} attempts")
                self._promote(connection)
                if not jobs:
                    passed = self._pass(connection, kinds, rest)
                    if passed is None:
                        break
                    rest -= passed
            if worker_id is not None:
                connection.execute("select errand.leave(%s)", [worker_id])
        return ran

    def expect_enqueued(self, kind: str, payload: Any = None, *, count: int = 1) -> list[int]:
        """Returns the ids of the unfinished jobs of a kind whose payload contains this one. Raises AssertionError, with
        what there is, if their number is another."""
        with connect(self.conninfo, "errand test") as connection:
            query = """
                select id, kind, coalesce(payload, errand_internal.large_payload(payload_day, id)) @> %s, payload::text
                from errand.job
                order by id
                """
            jobs = connection.execute(query, [as_json({} if payload is None else payload)]).fetchall()
        found = [id for id, of_kind, contains, _ in jobs if of_kind == kind and contains]
        if len(found) != count:
            there = ", ".join(f"{of_kind} {text}" for _, of_kind, _, text in jobs[:20]) or "nothing"
            raise AssertionError(f"{kind}: expected {count}, got {len(found)}; enqueued: {there}")
        return found

    def advance(self, time: Seconds) -> None:
        """Lets time pass: jobs that would be due by then are available now. The database's clock can't be moved, so the
        stored times of jobs, pauses and circuits are moved back instead. Payloads and your tables stay as they are."""
        with connect(self.conninfo, "errand test") as connection:
            _move(connection, interval(time))
            self._promote(connection)

    @contextlib.contextmanager
    def empty(self) -> Iterator[None]:
        """Removes all jobs and signals before and after a test."""
        self._clear()
        try:
            yield
        finally:
            self._clear()

    def _clear(self) -> None:
        with connect(self.conninfo, "errand test") as connection:
            connection.execute(
                """
                truncate errand.job, errand.failed, errand.history, errand.limit_slot, errand.claim, errand.signal,
                    errand.signal_wait, errand.signal_check, errand.flow_check, errand.step,
                    errand.rate_reservation, errand.rate_clock,
                    errand.batch, errand.batch_jobs, errand.batch_failure, errand.batch_mark
                """
            )

    def _run(self, connection: psycopg.Connection, jobs: list[PulledJob]) -> Iterator[Ran]:
        chunks: dict[tuple[str, Any], list[Context]] = {}
        for job in jobs:
            handler = self.worker.handlers[job.kind]
            context = Context.starting(
                job, handler.deadline, self.conninfo, _Reports(), Transactions(self.conninfo, keeps=False)
            )
            if handler.chunk is None:
                end = asyncio.run(run_coroutine(handler, context)) if handler.is_async else run_sync(handler, context)
                yield _tell(connection, context, end)
                continue
            key, failed = key_of(handler, context)
            if failed is not None:
                yield _tell(connection, context, failed)
                continue
            contexts = chunks.setdefault((job.kind, key), [])
            contexts.append(context)
            if len(contexts) == handler.chunk.size:
                yield from self._run_chunk(connection, chunks.pop((job.kind, key)))
        for contexts in chunks.values():
            yield from self._run_chunk(connection, contexts)

    def _run_chunk(self, connection: psycopg.Connection, contexts: list[Context]) -> Iterator[Ran]:
        handler = self.worker.handlers[contexts[0].job.kind]
        if handler.is_async:
            ends = asyncio.run(run_chunk_coroutine(handler, contexts))
        else:
            ends = run_chunk(handler, contexts)
        for context, end in zip(contexts, ends, strict=True):
            yield _tell(connection, context, end)

    def _pass(self, connection: psycopg.Connection, kinds: list[str], rest: timedelta) -> timedelta | None:
        """Lets time pass until the next job is due. None if none is due within the rest."""
        row = connection.execute(_NEXT_DUE, {"kinds": kinds}).fetchone()
        until: timedelta | None = row[0] if row else None
        if until is None or until > rest:
            return None
        step = max(until, timedelta(0)) + timedelta(milliseconds=1)
        _move(connection, step)
        self._promote(connection)
        return step

    @staticmethod
    def _promote(connection: psycopg.Connection) -> None:
        connection.execute("select errand_internal.promote(1000000, '-infinity')")
        connection.execute("select errand_internal.release_parked(), errand_internal.release_waiting()")
        connection.execute("select errand_internal.check_children(), errand_internal.check_rates()")
        connection.execute("select errand_internal.check_batches()")


def _tell(connection: psycopg.Connection, context: Context, end: Ended) -> Ran:
    job = context.job
    if end.verb is not None:
        run(connection, told(end.verb, [job.token], [end]))
    return Ran(job, end.outcome(job), end.error, end.output)


def _move(connection: psycopg.Connection, time: timedelta) -> None:
    with connection.transaction():
        for statement in _ADVANCE:
            connection.execute(statement, {"time": time})
