"""The jobs that a worker holds."""

from __future__ import annotations

import functools
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
        #: The chunk that it is part of, if any, and how many began together.
        self.group: Group | None = None
        self.together = 1
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


class Group:
    """A chunk: attempts of one kind and key, which begin together and run as one."""

    def __init__(self, handler: Handler, key: Any) -> None:
        self.handler = handler
        self.key = key
        self.size = 1 if handler.chunk is None else handler.chunk.size
        self.attempts: list[Attempt] = []
        self.gathers = True
        #: Attempts whose outcomes aren't written yet.
        self.left = 0
        self._lock = threading.Lock()
        #: Those that are to go on.
        self._going: set[Attempt] = set()
        self._cancel: Callable[[], Any] | None = None

    def begin(self) -> list[Attempt]:
        """Marks its attempts as running, and returns them without those that are not to begin any more."""
        self._going = set(self.attempts)
        for attempt in self.attempts:
            attempt.cancel = functools.partial(self._leave, attempt)
        begun = [attempt for attempt in self.attempts if attempt.begin()]
        with self._lock:
            self._going.intersection_update(begun)
        for attempt in begun:
            attempt.together = len(begun)
        return begun

    def cancel_by(self, cancel: Callable[[], Any] | None) -> None:
        """What ends the handler from outside, which happens once each of its jobs is to stop."""
        with self._lock:
            self._cancel = cancel
            self._cancel_if_left()

    def _leave(self, attempt: Attempt) -> None:
        with self._lock:
            if attempt in self._going:
                self._going.remove(attempt)
                self._cancel_if_left()

    def _cancel_if_left(self) -> None:
        if self._cancel is not None and not self._going:
            self._cancel()


class Held:
    """All attempts from the pull until their outcomes are written, by token."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._attempts: dict[str, Attempt] = {}
        #: How many of them are part of a chunk.
        self._chunked = 0
        #: Chunks that don't gather any more.
        self._chunks = 0

    def add(self, attempts: list[Attempt]) -> None:
        with self._changed:
            self._attempts.update((attempt.job.token, attempt) for attempt in attempts)

    def drop(self, tokens: list[str]) -> None:
        with self._changed:
            for token in tokens:
                attempt = self._attempts.pop(token, None)
                if attempt is not None and attempt.group is not None:
                    self._drop_from(attempt.group)
            self._changed.notify_all()

    def join(self, attempt: Attempt, group: Group) -> None:
        """An attempt is part of a chunk that gathers."""
        with self._changed:
            attempt.group = group
            group.left += 1
            self._chunked += 1
            self._changed.notify_all()

    def close(self, group: Group) -> None:
        """A chunk begins when a slot is free."""
        with self._changed:
            group.gathers = False
            self._chunks += 1

    def _drop_from(self, group: Group) -> None:
        self._chunked -= 1
        group.left -= 1
        if not group.gathers and group.left == 0:
            self._chunks -= 1

    def get(self, token: str) -> Attempt | None:
        with self._changed:
            return self._attempts.get(token)

    def all(self) -> list[Attempt]:
        with self._changed:
            return list(self._attempts.values())

    def count(self) -> int:
        """How many slots they take or wait for: one for a chunk, and none while it gathers."""
        return len(self._attempts) - self._chunked + self._chunks

    def wait_for_room(self, most: int, room: int, timeout: float) -> None:
        """Waits until `room` more fit, or until the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self.count() + room <= most, timeout)
