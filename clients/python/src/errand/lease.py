"""Keeps a worker's lease, apart from its handlers, and sends their reports."""

from __future__ import annotations

import logging
import threading
import time

import psycopg

from .calls import Call, run
from .connections import commit_in_memory, keep_running
from .errors import Invalid
from .held import Held

log = logging.getLogger("errand")

Report = tuple[float | None, str | None, str | None]


class Lease:
    """The worker's id, and what it last said to the database."""

    def __init__(self, conninfo: str, seconds: float, held: Held) -> None:
        self.id: str | None = None
        self._seconds = seconds
        self._conninfo = conninfo
        self._held = held
        self._contact = time.monotonic()
        self._reports: dict[str, Report] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(
            target=keep_running, args=(conninfo, "lease", self._keep_on, self._is_over, seconds / 6),
            name="errand-lease",
        )

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()

    def made_contact(self, id: str) -> None:
        self.id = id
        self._contact = time.monotonic()

    @property
    def is_held(self) -> bool:
        """Whether the worker was in touch with the database within its lease."""
        return time.monotonic() - self._contact < self._seconds

    def report(self, token: str, progress: float | None, message: str | None, output: str | None) -> None:
        """Keeps a report until the next second. What is None stays as it was."""
        was = self._reports.get(token, (None, None, None))
        self._reports[token] = (
            was[0] if progress is None else progress, was[1] if message is None else message,
            was[2] if output is None else output,
        )

    def _keep_on(self, connection: psycopg.Connection) -> None:
        commit_in_memory(connection)
        connection.execute("listen errand_cancel")
        next_renewal = next_reports = 0.0
        while not self._is_over.is_set():
            for cancelled in connection.notifies(timeout=0.25, stop_after=1):
                if any(str(attempt.job.id) == cancelled.payload for attempt in self._held.all()):
                    next_renewal = 0
            now = time.monotonic()
            if now >= next_renewal and self.id is not None:
                next_renewal = now + min(5, self._seconds / 6)
                self._renew(connection, self.id)
            if now >= next_reports and self._reports:
                next_reports = now + 1
                self._send_reports(connection)

    def _renew(self, connection: psycopg.Connection, id: str) -> None:
        tokens = [attempt.job.token for attempt in self._held.all()]
        arguments = {"worker": ("uuid", id), "running": ("text[]", tokens)}
        [[lost, is_alive]] = run(connection, Call("errand.renew", "lost, is_alive", arguments))
        self._contact = time.monotonic()
        if not is_alive and self.id == id:
            log.warning("the lease has ended; the worker registers anew")
            self.id = None
        for token in lost:
            # What has ended meanwhile is lost too, and not held any more.
            attempt = self._held.get(token)
            if attempt is not None and not attempt.is_lost:
                attempt.is_lost = True
                attempt.interrupt("the job is no longer this worker's")

    def _send_reports(self, connection: psycopg.Connection) -> None:
        for token in list(self._reports):
            progress, message, output = self._reports.pop(token)
            arguments = {
                "token": ("text", token), "progress": ("double precision", progress), "message": ("text", message),
                "output": ("jsonb", output),
            }
            try:
                run(connection, Call("errand.report", "*", arguments))
            except (psycopg.DataError, Invalid) as error:
                # It has what PostgreSQL can't store, as a NUL.
                log.warning("a report can't be stored: %s", type(error).__name__)
