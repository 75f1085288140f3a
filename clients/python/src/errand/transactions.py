"""Connections for the transactions of handlers, kept in between: a new session takes longer than most transactions, and
so does what it has to learn for its first one."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

import psycopg
from psycopg.rows import tuple_row

from .connections import connect, connect_async

#: A connection that was not used for so long is closed, in seconds.
IDLE = 60

#: As DISCARD ALL, but for the plans, which are what is worth keeping.
_RESET = """
    close all; set session authorization default; reset all; unlisten *; select pg_advisory_unlock_all();
    discard temp; discard sequences
"""

C = TypeVar("C", psycopg.Connection, psycopg.AsyncConnection)


class Transactions:
    """Those of one process. A session is reset before a handler gets one that another has had."""

    def __init__(self, conninfo: str, keeps: bool = True) -> None:
        self._conninfo = conninfo
        self._keeps = keeps
        self._lock = threading.Lock()
        self._idle: list[tuple[float, psycopg.Connection]] = []
        self._async_idle: list[tuple[float, psycopg.AsyncConnection]] = []

    @contextlib.contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        """A connection that commits at the end of the block, or rolls back if that raises."""
        connection = self._taken()
        try:
            yield connection
            connection.commit()
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
            connection.close()
            raise
        if not self._keep(self._idle, connection):
            connection.close()

    @contextlib.asynccontextmanager
    async def async_connection(self) -> AsyncIterator[psycopg.AsyncConnection]:
        """The same for async handlers, which run in one event loop."""
        connection = await self._async_taken()
        try:
            yield connection
            await connection.commit()
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                await connection.rollback()
            await connection.close()
            raise
        if not self._keep(self._async_idle, connection):
            await connection.close()

    def close(self, after: float = 0) -> None:
        """Closes the connections that were not used for so long, in seconds."""
        until = time.monotonic() - after
        with self._lock:
            old = [*_taken_out(self._idle, until), *_taken_out(self._async_idle, until)]
        for connection in old:
            connection.pgconn.finish()

    def _taken(self) -> psycopg.Connection:
        while (kept := self._pop(self._idle)) is not None:
            try:
                kept.autocommit = True
                kept.execute(_RESET)
                return _begin(kept)
            except psycopg.Error:
                kept.close()  # the server has ended it meanwhile
        return _begin(connect(self._conninfo, "errand transaction"))

    async def _async_taken(self) -> psycopg.AsyncConnection:
        while (kept := self._pop(self._async_idle)) is not None:
            try:
                await kept.set_autocommit(True)
                await kept.execute(_RESET)
                return await _async_begin(kept)
            except psycopg.Error:
                await kept.close()
        return await _async_begin(await connect_async(self._conninfo, "errand transaction"))

    def _pop(self, connections: list[tuple[float, C]]) -> C | None:
        with self._lock:
            return connections.pop()[1] if connections else None

    def _keep(self, connections: list[tuple[float, C]], connection: C) -> bool:
        # Behind a pooler the next transaction may run on another session.
        if not self._keeps or connection.prepare_threshold is None or connection.closed:
            return False
        with self._lock:
            connections.append((time.monotonic(), connection))
        return True


def _taken_out(connections: list[tuple[float, C]], until: float) -> list[C]:
    """Those that were not used since then. The oldest are the first."""
    taken: list[C] = []
    while connections and connections[0][0] <= until:
        taken.append(connections.pop(0)[1])
    return taken


def _begin(connection: psycopg.Connection) -> psycopg.Connection:
    """Takes back what a handler may have set on the object."""
    connection.autocommit = False
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.read_only = connection.deferrable = None
    connection.row_factory = tuple_row
    return connection


async def _async_begin(connection: psycopg.AsyncConnection) -> psycopg.AsyncConnection:
    await connection.set_autocommit(False)
    await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)
    await connection.set_read_only(None)
    await connection.set_deferrable(None)
    connection.row_factory = tuple_row
    return connection
