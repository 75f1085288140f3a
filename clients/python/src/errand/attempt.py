"""An attempt of a pulled job: its context, and what became of it."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

import psycopg

from .batches import Batch
from .calls import Call, as_json, run, run_async
from .errors import ErrandError
from .handlers import Handler, Permanent, RetryAfter, Snooze, Stop, Wait
from .jobs import Parent
from .middleware import around, async_around
from .steps import Steps
from .transactions import Transactions

log = logging.getLogger("errand")


@dataclass(frozen=True)
class PulledJob:
    """A job that this worker has pulled, with the token of its attempt."""

    id: int
    token: str
    queue: str
    kind: str
    attempt: int
    max_attempts: int
    created_at: datetime
    run_at: datetime
    payload: Any
    options: dict[str, Any] | None

    @property
    def is_followed(self) -> bool:
        return bool(self.options and "owner" in self.options)


@dataclass(frozen=True)
class Ended:
    """How an attempt ended. `verb` is the function that tells it: done, fail, snooze, wait_for, release; or None if the
    handler has told it in its own transaction."""

    verb: str | None
    output: str | None = None
    error: str | None = None
    delay: timedelta | None = None
    is_permanent: bool = False
    signal: str | None = None
    role: str | None = None
    #: The class of the error.
    cause: str | None = None
    #: Whether a transaction of the handler's may have completed the job already.
    may_be_told: bool = False

    def outcome(self, job: PulledJob) -> str:
        """The outcome as the database counts it."""
        match self.verb:
            case "fail":
                return "failed" if self.is_permanent or job.attempt >= job.max_attempts else "retried"
            case "snooze":
                return "snoozed"
            case "wait_for":
                return "waiting"
            case "release":
                return "released"
            case _:
                return "succeeded"


@dataclass(frozen=True)
class Signal:
    """What a job has waited for."""

    name: str
    #: False if the time was over before.
    has_come: bool
    payload: Any


class Reports(Protocol):
    """Where a context's reports go."""

    def report(self, token: str, progress: float | None, message: str | None, output: str | None) -> None: ...


@dataclass
class Context:
    """What a handler may ask for beside its payload."""

    job: PulledJob
    deadline: float
    conninfo: str
    reports: Reports
    transactions: Transactions
    _stop: threading.Event = field(default_factory=threading.Event)
    _why: str = ""
    _is_committed: bool = False
    _may_be_told: bool = False

    def __post_init__(self) -> None:
        self._steps = Steps(self.job.token, self.transactions, self)

    @classmethod
    def starting(
        cls, job: PulledJob, deadline: timedelta, conninfo: str, reports: Reports, transactions: Transactions
    ) -> Context:
        """The context of an attempt that starts now."""
        return cls(job, time.monotonic() + deadline.total_seconds(), conninfo, reports, transactions)

    @property
    def id(self) -> int:
        return self.job.id

    @property
    def attempt(self) -> int:
        """This attempt's number, from 1."""
        return self.job.attempt

    @property
    def is_last_attempt(self) -> bool:
        return self.job.attempt >= self.job.max_attempts

    @property
    def tags(self) -> list[str]:
        return list((self.job.options or {}).get("tags", []))

    @property
    def traceparent(self) -> str | None:
        """The trace that the job was enqueued in, as in W3C Trace Context."""
        return (self.job.options or {}).get("traceparent")

    @property
    def signal(self) -> Signal | None:
        """What the job has waited for, by Wait; None if it hasn't."""
        found = (self.job.options or {}).get("signal")
        return None if found is None else Signal(found["name"], "payload" in found, found.get("payload"))

    @property
    def batch(self) -> Batch | None:
        """The batch that the job is in, to which it may add jobs; None if it is in none."""
        found = (self.job.options or {}).get("batch")
        return None if found is None else Batch(found)

    def parents(self) -> list[Parent]:
        """The jobs that it has waited for (`after`), by their ids, each with its output. Read anew in each call."""
        if not self._has_parents:
            return []
        with self.transactions.connection() as connection:
            return Parent.read(run(connection, Parent.call(self.job.token)))

    async def async_parents(self) -> list[Parent]:
        """The same for an async handler."""
        if not self._has_parents:
            return []
        async with self.transactions.async_connection() as connection:
            return Parent.read(await run_async(connection, Parent.call(self.job.token)))

    @property
    def _has_parents(self) -> bool:
        return "after" in (self.job.options or {})

    @property
    def seconds_left(self) -> float:
        """Until the deadline."""
        return self.deadline - time.monotonic()

    @property
    def is_stopped(self) -> bool:
        """Whether the attempt is not to go on. A handler in a thread asks from time to time, or calls `check`."""
        return self._stop.is_set() or self.seconds_left <= 0

    @property
    def was_interrupted(self) -> bool:
        """Whether it was told to stop, whatever its deadline."""
        return self._stop.is_set()

    def check(self) -> None:
        """Raises Stop if the attempt is not to go on."""
        if self.is_stopped:
            raise Stop(self._why or "deadline exceeded")

    def stop(self, why: str) -> None:
        self._why = self._why or why
        self._stop.set()

    def report(self, progress: float | None = None, message: str | None = None, output: Any = None) -> None:
        """How far the job is, from 0 to 1, for those who follow it. Written once a second at most."""
        self.reports.report(
            self.job.token, None if progress is None else float(progress), None if message is None else str(message),
            None if output is None else as_json(output, "output"),
        )

    def step(self, name: str, function: Callable[[], Any]) -> Any:
        """Calls a function once in the life of the job, and returns what it has returned, as JSON has it: that is
        recorded under the name, and later attempts get it without a call. Steps side by side need different names.

        If the worker dies between the function's return and the record, the next attempt calls it again.
        """
        return self._steps.once(name, function)

    async def async_step(self, name: str, function: Callable[[], Awaitable[Any]]) -> Any:
        """The same for an async handler."""
        return await self._steps.async_once(name, function)

    def step_transaction(self, name: str, function: Callable[[psycopg.Connection], Any]) -> Any:
        """The same with a connection in a transaction that also records the step: what the function writes there
        commits with the record, or not at all."""
        return self._steps.once_in_transaction(name, function)

    async def async_step_transaction(
        self, name: str, function: Callable[[psycopg.AsyncConnection], Awaitable[Any]]
    ) -> Any:
        """The same for an async handler."""
        return await self._steps.async_once_in_transaction(name, function)

    @contextlib.contextmanager
    def transaction(self, output: Any = None) -> Iterator[psycopg.Connection]:
        """A transaction that also completes the job: its effect and its completion commit together, or neither does.

        Leave it as the last thing. What the handler returns or raises after it changes nothing.
        """
        with self.transactions.connection() as connection:
            yield connection
            self._require(run(connection, self._done(output)))
        self._is_committed = True

    @contextlib.asynccontextmanager
    async def async_transaction(self, output: Any = None) -> AsyncIterator[psycopg.AsyncConnection]:
        """The same for an async handler."""
        async with self.transactions.async_connection() as connection:
            yield connection
            self._require(await run_async(connection, self._done(output)))
        self._is_committed = True

    def complete(self, connection: Any, output: Any = None) -> None:
        """Completes the job in the transaction that a connection of psycopg, SQLAlchemy or Django is in: as
        `transaction`, but for a transaction that is yours. Raises Stop if the job is no longer this worker's.

        If the transaction commits, the job has succeeded. If not, what the handler returns or raises counts.
        """
        self._may_be_told = True
        self._require(run(connection, self._done(output)))

    async def async_complete(self, connection: Any, output: Any = None) -> None:
        """The same for async psycopg, asyncpg or async SQLAlchemy."""
        self._may_be_told = True
        self._require(await run_async(connection, self._done(output)))

    def _done(self, output: Any) -> Call:
        end = Ended("done", None if output is None else as_json(output, "output"))
        return told("done", [self.job.token], [end], "result")

    def _require(self, rows: list[Any]) -> None:
        if rows[0][0] != "completed":
            raise Stop(f"the job could not be completed in the handler's transaction: {rows[0][0]}")


def told(verb: str, tokens: list[str], ends: list[Ended], columns: str = "token, job_id, result") -> Call:
    """The call that tells how attempts ended."""
    arguments: dict[str, tuple[str, Any]] = {"tokens": ("text[]", tokens)}
    match verb:
        case "done":
            if any(end.output is not None for end in ends):
                arguments["outputs"] = ("jsonb[]", [end.output for end in ends])
        case "fail":
            arguments["errors"] = ("text[]", [end.error for end in ends])
            arguments["retry_after"] = ("interval[]", [_text(end.delay) for end in ends])
            arguments["permanent"] = ("boolean[]", [end.is_permanent for end in ends])
        case "snooze":
            arguments["delays"] = ("interval[]", [_text(end.delay) for end in ends])
        case "wait_for":
            arguments["signals"] = ("text[]", [end.signal for end in ends])
            arguments["timeouts"] = ("interval[]", [_text(end.delay) for end in ends])
            arguments["roles"] = ("text[]", [end.role for end in ends])
    return Call(f"errand.{verb}", columns, arguments)


def _text(delay: timedelta | None) -> str | None:
    return None if delay is None else f"{delay.total_seconds():.6f} s"


def returned(value: Any) -> Ended:
    """The end of an attempt whose handler has returned."""
    try:
        return Ended("done", None if value is None else as_json(value, "output"))
    except TypeError as error:
        return Ended("fail", error=str(error), is_permanent=True)


def raised(error: BaseException, context: Context) -> Ended:
    """The end of an attempt whose handler has raised."""
    return replace(_raised(error, context), cause=type(error).__name__)


def _raised(error: BaseException, context: Context) -> Ended:
    match error:
        case Snooze():
            return Ended("snooze", delay=error.delay)
        case Wait():
            return Ended("wait_for", delay=error.timeout, signal=error.signal, role=error.by)
        case Permanent():
            return Ended("fail", error=str(error) or "no reason given", is_permanent=True)
        case RetryAfter():
            return Ended("fail", error=str(error), delay=error.delay)
        case Stop() if context.seconds_left > 0:
            return Ended("release")
        case _ if context.seconds_left <= 0:
            return Ended("fail", error="deadline exceeded")
        case ErrandError():
            return Ended("fail", error=f"{type(error).__name__}: {error.message}")
        case _:
            return Ended("fail", error=f"{type(error).__name__}: {error}")


def end_of(context: Context, end: Ended) -> Ended:
    return Ended(None) if context._is_committed else replace(end, may_be_told=context._may_be_told)


def run_sync(handler: Handler, context: Context) -> Ended:
    """Runs a handler in this thread."""
    try:
        end = returned(around(handler.middleware, context, lambda: handler.called(context.job.payload, context)))
    except BaseException as error:  # also SystemExit: it ends an attempt, not the worker
        end = raised(error, context)
        log_failure(error, context, end)
    return end_of(context, end)


async def run_coroutine(handler: Handler, context: Context) -> Ended:
    """Runs an async handler."""
    import asyncio

    try:
        async with asyncio.timeout(context.seconds_left):
            end = returned(
                await async_around(
                    handler.middleware, context, lambda: handler.called(context.job.payload, context)))
    except asyncio.CancelledError as error:
        end = cancelled(error, context)
    except BaseException as error:
        end = raised(error, context)
        log_failure(error, context, end)
    return end_of(context, end)


def cancelled(error: BaseException, context: Context) -> Ended:
    """The end of an attempt whose coroutine was cancelled."""
    return Ended("release") if context.was_interrupted and context.seconds_left > 0 else raised(error, context)


def log_failure(error: BaseException, context: Context, end: Ended) -> None:
    """Logs a failure without its text, which may have what the payload has: errand.failures shows that."""
    if end.verb == "fail":
        job = context.job
        log.warning(
            "job %s (%s, attempt %s of %s) failed: %s", job.id, job.kind, job.attempt, job.max_attempts,
            type(error).__name__,
        )
