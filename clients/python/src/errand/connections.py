"""Connections of Errand's own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, LiteralString

import psycopg

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
    conninfo: str, what: str, body: Callable[[psycopg.Connection], None], over: threading.Event
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
        except Exception:
            log.exception("%s failed", what)
        pause = 0.1 if time.monotonic() - began > 5 else min(pause * 2, 5)
        if not over.is_set():
            over.wait(pause)
