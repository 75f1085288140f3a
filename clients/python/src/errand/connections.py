"""Connections of Errand's own."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, LiteralString

import psycopg

from .errors import ErrandError

log = logging.getLogger("errand")

_SESSION_CHECK = "select pg_backend_pid(), current_setting('default_transaction_isolation')"


def connect(conninfo: str, what: str) -> psycopg.Connection:
    """A connection in autocommit mode, which the server shows by that name."""
    connection = psycopg.connect(conninfo, autocommit=True, application_name=what, prepare_threshold=None)
    if change := _session(connection, connection.execute(_SESSION_CHECK).fetchone()):
        connection.execute(change)
    return connection


async def connect_async(conninfo: str, what: str) -> psycopg.AsyncConnection:
    """The same for async code."""
    connection = await psycopg.AsyncConnection.connect(
        conninfo, autocommit=True, application_name=what, prepare_threshold=None
    )
    if change := _session(connection, await (await connection.execute(_SESSION_CHECK)).fetchone()):
        await connection.execute(change)
    return connection


def _session(connection: psycopg.Connection | psycopg.AsyncConnection, row: Any) -> LiteralString | None:
    """Lets statements be prepared if no pooler stands between, which invents a process id for its client: its next
    transaction may run on another session. Returns what the session needs."""
    pid, isolation = row
    if pid != connection.info.backend_pid:
        return None
    connection.prepare_threshold = 1
    return None if isolation == "read committed" else "set default_transaction_isolation = 'read committed'"


def commit_in_memory(connection: psycopg.Connection) -> None:
    """Lets commits return before they are on disk. Not behind a pooler, where others would get such a session."""
    if connection.prepare_threshold is not None:
        connection.execute("set synchronous_commit = off")


def keep_running(
    conninfo: str, what: str, body: Callable[[psycopg.Connection], None], over: threading.Event,
    longest_pause: float = 5,
) -> None:
    """Runs a part of a worker on a connection of its own, and anew after a failure, until it is over."""
    pause = 0.1
    while not over.is_set():
        began = time.monotonic()
        try:
            with connect(conninfo, f"errand {what}") as connection:
                body(connection)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            log.warning("%s: the connection failed: %s", what, str(error).strip())
        except ErrandError as error:
            log.error("%s: %s", what, error)
        except Exception:
            log.exception("%s failed", what)
        pause = 0.1 if time.monotonic() - began > 5 else min(pause * 2, longest_pause)
        if not over.is_set():
            over.wait(pause)


@dataclass
class _Own:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    connection: psycopg.AsyncConnection | None = None


class PerLoop:
    """A connection for each event loop: one can't be used in another, and a program may have one loop after another."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._lock = threading.Lock()
        self._owns: dict[asyncio.AbstractEventLoop, _Own] = {}

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection]:
        """That of the running loop, for one statement at a time."""
        with self._lock:
            for loop in [loop for loop in self._owns if loop.is_closed()]:
                _finish(self._owns.pop(loop))
            own = self._owns.setdefault(asyncio.get_running_loop(), _Own())
        async with own.lock:
            if own.connection is None or own.connection.closed:
                own.connection = await connect_async(self._conninfo, "errand")
            yield own.connection

    def close(self) -> None:
        with self._lock:
            for own in self._owns.values():
                _finish(own)
            self._owns.clear()


def _finish(own: _Own) -> None:
    if own.connection is not None:
        own.connection.pgconn.finish()


#: What starts anew in the child of a fork, by its method `_start`.
forked: weakref.WeakSet[Any] = weakref.WeakSet()


def _start_anew() -> None:
    for one in forked:
        one._start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
