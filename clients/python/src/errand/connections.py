"""Connections of a worker's parts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import psycopg

log = logging.getLogger("errand")


def connect(conninfo: str, what: str) -> psycopg.Connection:
    """A connection for a part of a worker, which the server shows by that name."""
    connection = psycopg.connect(conninfo, autocommit=True, application_name=f"errand {what}", prepare_threshold=1)
    # Roles and databases may have another default.
    connection.execute("set default_transaction_isolation = 'read committed'")
    return connection


def keep_running(
    conninfo: str, what: str, body: Callable[[psycopg.Connection], None], over: threading.Event
) -> None:
    """Runs a part on a connection of its own, and anew after a failure, until it is over."""
    pause = 0.1
    while not over.is_set():
        began = time.monotonic()
        try:
            with connect(conninfo, what) as connection:
                body(connection)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            log.warning("%s: the connection failed: %s", what, str(error).strip())
        except Exception:
            log.exception("%s failed", what)
        pause = 0.1 if time.monotonic() - began > 5 else min(pause * 2, 5)
        if not over.is_set():
            over.wait(pause)
