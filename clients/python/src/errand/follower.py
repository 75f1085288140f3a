"""Waits for the ends of jobs: one thread and one connection for all waits of a process."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from concurrent.futures import Future

import psycopg

from .calls import Call, from_json, run
from .connections import connect
from .errors import ErrandError, NotFound
from .jobs import EndedJob

log = logging.getLogger("errand")

#: A notification may be lost, so each wait is asked about once a second.
POLL = 1.0


class Follower:
    """Resolves waits by errand.ended, at once when NOTIFY errand_ended names their jobs."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._lock = threading.Lock()
        self._waits: dict[int, list[Future[EndedJob]]] = {}
        self._asked: set[int] = set()
        self._thread: threading.Thread | None = None
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._wake.setblocking(False)
        self._closed = threading.Event()
        #: Why there is no connection, if there is none.
        self._failure: str | None = None

    def end(self, id: int) -> Future[EndedJob]:
        """The end of a job of one's own. Cancel the future to stop waiting."""
        future: Future[EndedJob] = Future()
        with self._lock:
            if self._closed.is_set():
                raise RuntimeError("this client is closed")
            self._waits.setdefault(id, []).append(future)
            self._asked.add(id)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="errand-follower", daemon=True)
                self._thread.start()
            self._wake_up()
        return future

    def timeout(self, id: int, seconds: float) -> TimeoutError:
        """The error of a wait that was too long."""
        why = "" if self._failure is None else f"; no connection: {self._failure}"
        return TimeoutError(f"job {id} has not ended within {seconds} s{why}")

    def close(self) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            thread = self._thread
            self._wake_up()
        if thread is not None:
            thread.join()
        self._wake.close()
        self._woken.close()

    def _wake_up(self) -> None:
        # One that is full wakes too. Without a connection nobody empties it.
        with contextlib.suppress(BlockingIOError):
            self._wake.send(b".")

    def _run(self) -> None:
        pause = 0.1
        while not self._closed.is_set():
            try:
                with connect(self._conninfo, "errand results") as connection:
                    connection.execute("listen errand_ended")
                    pause = 0.1
                    self._failure = None
                    self._follow(connection)
            except Exception as error:  # the waits go on in any case
                self._failure = str(error).strip()
                log.warning("results: the connection failed: %s", self._failure)
                self._closed.wait(pause)
                pause = min(pause * 2, 5)
        with self._lock:
            futures = [future for waits in self._waits.values() for future in waits]
            self._waits.clear()
        for future in futures:
            future.cancel()

    def _follow(self, connection: psycopg.Connection) -> None:
        ended: set[int] = set()

        def notified(notify: psycopg.Notify) -> None:
            ended.update(int(one.partition(":")[0]) for one in notify.payload.split(","))

        connection.add_notify_handler(notified)
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            next_poll = 0.0
            while not self._closed.is_set():
                # Also what was sent while a query ran.
                connection.pgconn.consume_input()
                while (notify := connection.pgconn.notifies()) is not None:
                    ended.update(int(one.partition(b":")[0]) for one in notify.extra.split(b","))
                with self._lock:
                    for id in [id for id, waits in self._waits.items() if all(wait.done() for wait in waits)]:
                        del self._waits[id]
                    waiting = set(self._waits)
                    asked, self._asked = self._asked, set()
                now = time.monotonic()
                due = waiting if now >= next_poll else (asked | ended) & waiting
                ended.clear()
                if now >= next_poll:
                    next_poll = now + POLL
                if due:
                    self._resolve(connection, due)
                timeout = max(next_poll - time.monotonic(), 0) if self._waits else None
                for key, _ in selector.select(0 if ended or self._asked else timeout):
                    if key.fileobj is self._woken:
                        self._woken.recv(4096)

    def _resolve(self, connection: psycopg.Connection, ids: set[int]) -> None:
        call = Call("errand.ended", "job_id, state, output::text, error", {"ids": ("bigint[]", sorted(ids))})
        for id, state, output, error in run(connection, call):
            with self._lock:
                futures = self._waits.pop(id, [])
            for future in futures:
                if not future.set_running_or_notify_cancel():
                    continue
                if state == "unknown":
                    unknown: ErrandError = NotFound(
                        f"job {id}: expected one of this login's own, got none",
                        "enqueue it with follow=True; ended jobs stay for 7 days, failed ones for 30",
                    )
                    future.set_exception(unknown)
                else:
                    future.set_result(EndedJob(id, state, from_json(output), error))
