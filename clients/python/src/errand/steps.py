"""Steps: what a handler does once in the life of its job, however many attempts that takes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import unicodedata
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

import psycopg

from .calls import Call, Row, as_json, from_json, run, run_async
from .errors import Conflict
from .handlers import Stop
from .transactions import Transactions

#: Between two tries to record a step, in seconds.
PAUSE = 0.1


class Control(Protocol):
    """Whether the attempt is to go on."""

    @property
    def is_stopped(self) -> bool: ...

    def check(self) -> None: ...


class Steps:
    """The steps of one attempt's job. The first call reads what is on record."""

    def __init__(self, token: str, transactions: Transactions, control: Control) -> None:
        self._token = token
        self._transactions = transactions
        self._control = control
        self._lock = threading.Lock()
        #: The outputs as JSON, by name; None before the first call.
        self._known: dict[str, str | None] | None = None

    def once(self, name: str, function: Callable[[], Any]) -> Any:
        known = self._known if self._known is not None else self._add(self._read(name))
        if _checked(name) not in known:
            self._control.check()
            known = self._add({name: self._write(name, as_json(function(), f"step {name}"))})
        return from_json(known[name])

    def once_in_transaction(self, name: str, function: Callable[[psycopg.Connection], Any]) -> Any:
        known = self._known if self._known is not None else self._add(self._read(name))
        if _checked(name) not in known:
            self._control.check()
            with self._transactions.connection() as connection:
                output = as_json(function(connection), f"step {name}")
                recorded = self._write_in(connection, name, output)
            known = self._add({name: recorded})
        return from_json(known[name])

    async def async_once(self, name: str, function: Callable[[], Awaitable[Any]]) -> Any:
        known = self._known if self._known is not None else self._add(await self._async_read(name))
        if _checked(name) not in known:
            self._control.check()
            output = as_json(await function(), f"step {name}")
            writing = asyncio.ensure_future(self._async_write(name, output))
            try:
                recorded = await asyncio.shield(writing)
            except asyncio.CancelledError:
                # The effect has happened: the attempt ends once that is on record.
                with contextlib.suppress(Exception):
                    await writing
                raise
            known = self._add({name: recorded})
        return from_json(known[name])

    async def async_once_in_transaction(
        self, name: str, function: Callable[[psycopg.AsyncConnection], Awaitable[Any]]
    ) -> Any:
        known = self._known if self._known is not None else self._add(await self._async_read(name))
        if _checked(name) not in known:
            self._control.check()
            async with self._transactions.async_connection() as connection:
                output = as_json(await function(connection), f"step {name}")
                recorded = await self._async_write_in(connection, name, output)
            known = self._add({name: recorded})
        return from_json(known[name])

    def _add(self, steps: dict[str, str | None]) -> dict[str, str | None]:
        """Threads of a handler may do steps side by side: what is known stays."""
        with self._lock:
            self._known = {**steps, **(self._known or {})}
            return self._known

    def _read(self, name: str) -> dict[str, str | None]:
        with self._transactions.connection() as connection, _stops(name):
            return _by_name(run(connection, self._steps))

    async def _async_read(self, name: str) -> dict[str, str | None]:
        async with self._transactions.async_connection() as connection:
            with _stops(name):
                return _by_name(await run_async(connection, self._steps))

    def _write(self, name: str, output: str) -> str | None:
        """Nothing but the attempt's end keeps the record from being written: the effect has happened."""
        while True:
            try:
                with self._transactions.connection() as connection, _stops(name):
                    return _output(run(connection, self._step(name, output)))
            except psycopg.OperationalError:
                if self._control.is_stopped:
                    raise
            time.sleep(PAUSE)

    async def _async_write(self, name: str, output: str) -> str | None:
        while True:
            try:
                async with self._transactions.async_connection() as connection:
                    with _stops(name):
                        return _output(await run_async(connection, self._step(name, output)))
            except psycopg.OperationalError:
                if self._control.is_stopped:
                    raise
            await asyncio.sleep(PAUSE)

    def _write_in(self, connection: psycopg.Connection, name: str, output: str) -> str | None:
        while True:
            try:
                # A savepoint, which is all that the lock of another session ends.
                with connection.transaction(), _stops(name):
                    return _output(run(connection, self._step(name, output)))
            except psycopg.errors.LockNotAvailable:
                if self._control.is_stopped:
                    raise

    async def _async_write_in(self, connection: psycopg.AsyncConnection, name: str, output: str) -> str | None:
        while True:
            try:
                async with connection.transaction():
                    with _stops(name):
                        return _output(await run_async(connection, self._step(name, output)))
            except psycopg.errors.LockNotAvailable:
                if self._control.is_stopped:
                    raise

    @property
    def _steps(self) -> Call:
        return Call("errand.steps", "name, output::text", {"token": ("text", self._token)})

    def _step(self, name: str, output: str) -> Call:
        arguments = {"token": ("text", self._token), "name": ("text", name), "output": ("jsonb", output)}
        return Call("errand.step", "step::text", arguments)


def _checked(name: str) -> str:
    """The name, by the rule of errand_internal.check_name, which would refuse it only after the effect."""
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or any(unicodedata.category(c) == "Cc" for c in name):
        raise ValueError(f"step: name: expected 1 to 200 characters, got {name!r:.120}")
    return name


def _by_name(rows: list[Row]) -> dict[str, str | None]:
    return {name: output for name, output in rows}


def _output(rows: list[Row]) -> str | None:
    [[output]] = rows
    return None if output is None else str(output)


@contextlib.contextmanager
def _stops(name: str) -> Iterator[None]:
    """Stops an attempt that has ended for the database: its job was cancelled, or runs elsewhere."""
    try:
        yield
    except Conflict:
        raise Stop(f"step {name}: nothing was recorded: the job is no longer this worker's") from None
