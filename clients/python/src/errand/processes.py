"""Handlers in processes of their own: a crash, a hang or a leak of one ends that process alone."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

from .attempt import Context, Ended, run_sync
from .chunk import run_chunk
from .handlers import Handler
from .transactions import IDLE, Transactions

#: The most that the import of a handler's module takes before the deadline of an attempt counts it, in seconds.
IMPORT = 60

_spawn = multiprocessing.get_context("spawn")


class Process:
    """One process, which runs one attempt at a time. It is started when it is needed, and again after it has ended."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._lock = threading.Lock()
        self._process: Any = None
        self._pipe: Connection | None = None

    def prepare(self, handler: Handler) -> None:
        """Waits until there is a process that has imported the handler: no attempt's deadline is to count that."""
        if self._process is not None and self._process.is_alive():
            return
        pipe = self._start()
        # A failure is the attempt's: it comes again.
        with contextlib.suppress(Exception):
            pipe.send((handler, None, 0))
            if pipe.poll(IMPORT):
                pipe.recv()
            else:
                self.kill()

    def run(self, handler: Handler, contexts: list[Context]) -> list[Ended]:
        """Runs an attempt, or those of a chunk, and passes their reports on. The process is killed at the deadline."""
        pipe = self._start()
        first = contexts[0]
        try:
            pipe.send((handler, [context.job for context in contexts], first.seconds_left))
            while pipe.poll(max(0, first.seconds_left)):
                message = pipe.recv()
                if isinstance(message, Ended):
                    return [message for _ in contexts]
                if isinstance(message, list):
                    return message
                first.reports.report(*message)
        except (EOFError, OSError):
            how = self._how_it_died()
            return [_died(context, how) for context in contexts]
        except Exception as error:
            unsent = Ended("fail", error=f"the handler can't be sent to a process: {error}", is_permanent=True)
            return [unsent for _ in contexts]
        self.kill()
        self._join()
        return [Ended("fail", error="deadline exceeded") for _ in contexts]

    def kill(self) -> None:
        with self._lock:
            if self._process is not None and self._process.is_alive():
                self._process.kill()

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        self._join()

    def _start(self) -> Connection:
        if self._process is None or not self._process.is_alive():
            self._join()
            ours, theirs = _spawn.Pipe()
            with self._lock:
                self._process = _spawn.Process(
                    target=_serve, args=(theirs, self._conninfo), name="errand handler", daemon=True
                )
                self._process.start()
            theirs.close()
            self._pipe = ours
        assert self._pipe is not None
        return self._pipe

    def _how_it_died(self) -> str:
        process = self._process
        self._join()
        code = process.exitcode if process is not None else None
        return f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"

    def _join(self) -> None:
        if self._process is not None:
            self._process.join(5)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        self._process = None


def _died(context: Context, how: str) -> Ended:
    """The end of an attempt whose process has ended before it."""
    if context.is_stopped:
        return Ended("release") if context.seconds_left > 0 else Ended("fail", error="deadline exceeded")
    return Ended("fail", error=f"the handler's process ended with {how}")


class _Reports:
    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def report(self, token: str, progress: float | None, message: str | None, output: str | None) -> None:
        self._pipe.send((token, progress, message, output))


def _serve(pipe: Connection, conninfo: str) -> None:
    """The process: it ends with the one that started it."""
    # The worker's own process decides what a signal to the group means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    parent = os.getppid()
    transactions = Transactions(conninfo)
    while os.getppid() == parent:
        if not pipe.poll(1):
            transactions.close(after=IDLE)
            continue
        try:
            handler, jobs, seconds = pipe.recv()
        except EOFError:
            return
        except Exception as error:
            pipe.send(Ended("fail", error=f"the handler can't be imported: {error}", is_permanent=True))
            continue
        if jobs is None:
            pipe.send(None)
            continue
        reports = _Reports(pipe)
        contexts = [Context.starting(job, timedelta(seconds=seconds), conninfo, reports, transactions) for job in jobs]
        pipe.send(run_chunk(handler, contexts) if handler.chunk else [run_sync(handler, contexts[0])])
