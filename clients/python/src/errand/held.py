"""The jobs that a worker holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from .attempt import Context, PulledJob
from .handlers import Handler


class Attempt:
    """A job that this worker holds, begun or not."""

    def __init__(self, job: PulledJob, handler: Handler, context: Context) -> None:
        self.job = job
        self.handler = handler
        self.context = context
        self.began: float | None = None
        self.is_lost = False
        self._has_ended = threading.Lock()
        #: Ends the handler from outside, if that can be done.
        self.cancel: Callable[[], Any] | None = None

    def begin(self) -> bool:
        """Marks it as running. False if it is not to begin any more."""
        # Its deadline begins now: what it has waited here doesn't count.
        if self.is_lost or self.context.was_interrupted:
            return False
        self.began = time.monotonic()
        self.context.deadline = self.began + self.handler.deadline.total_seconds()
        return True

    def end(self) -> bool:
        """Whether this is the first end of it: a handler may return after it was given up."""
        return self._has_ended.acquire(blocking=False)

    def interrupt(self, why: str) -> None:
        self.context.stop(why)
        if self.began is not None and (cancel := self.cancel) is not None:
            cancel()


class Held:
    """All attempts from the pull until their outcomes are written, by token."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._attempts: dict[str, Attempt] = {}

    def add(self, attempts: list[Attempt]) -> None:
        with self._changed:
            self._attempts.update((attempt.job.token, attempt) for attempt in attempts)

    def drop(self, tokens: list[str]) -> None:
        with self._changed:
            for token in tokens:
                self._attempts.pop(token, None)
            self._changed.notify_all()

    def get(self, token: str) -> Attempt | None:
        with self._changed:
            return self._attempts.get(token)

    def all(self) -> list[Attempt]:
        with self._changed:
            return list(self._attempts.values())

    def count(self) -> int:
        return len(self._attempts)

    def wait_for_room(self, most: int, room: int, timeout: float) -> None:
        """Waits until `room` more fit, or until the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._attempts) + room <= most, timeout)
