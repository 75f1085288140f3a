"""Gathers pulled jobs into chunks until each is full, or its window is over."""

from __future__ import annotations

import threading
from typing import Any

from .held import Attempt, Group, Held

#: The most jobs of chunks that wait for a slot: no more are pulled meanwhile.
READY = 1000
#: The most jobs that a pull asks for beyond free slots.
MORE = 1000


class Gathering:
    """The chunks of a worker that haven't begun. One that gathers takes no slot."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._changed = threading.Condition()
        self._groups: dict[tuple[str, Any], Group] = {}
        self._ready = 0
        #: How many more jobs than there are slots the next pull may ask for: as long as pulls find all that they ask
        #: for, and only jobs for chunks, twice as many each time.
        self._more = 0

    def add(self, attempts: list[tuple[Attempt, Any]]) -> tuple[list[Group], list[Group]]:
        """Adds attempts with their keys. Returns the chunks that are full, and new ones that aren't."""
        full: list[Group] = []
        new: list[Group] = []
        with self._changed:
            for attempt, key in attempts:
                chunk = attempt.handler.chunk
                assert chunk is not None
                name = attempt.job.kind, key
                if (group := self._groups.get(name)) is None:
                    group = self._groups[name] = Group(attempt.handler, key)
                    new.append(group)
                group.attempts.append(attempt)
                self._held.join(attempt, group)
                if len(group.attempts) == chunk.size:
                    self._close(group)
                    full.append(group)
        return full, [group for group in new if group.gathers]

    def end(self, group: Group) -> bool:
        """The window of a chunk is over. False if it was full before, or its jobs are handed back."""
        with self._changed:
            if self._groups.get((group.handler.kind, group.key)) is not group:
                return False
            self._close(group)
            return True

    def _close(self, group: Group) -> None:
        del self._groups[group.handler.kind, group.key]
        self._ready += len(group.attempts)
        self._held.close(group)
        self._changed.notify_all()

    def begins(self, group: Group) -> None:
        """A chunk has got its slot."""
        with self._changed:
            self._ready -= len(group.attempts)
            self._changed.notify_all()

    def take(self) -> list[Attempt]:
        """Takes the attempts of all chunks that gather: they won't begin."""
        with self._changed:
            taken = [attempt for group in self._groups.values() for attempt in group.attempts]
            self._groups.clear()
        return taken

    def fits(self, slots: int, timeout: float) -> bool:
        """Whether no more chunks gather than there are slots, now or within the timeout: the next jobs wait until some
        of these have begun."""
        if not self._groups and not self._ready:
            return True
        with self._changed:
            return self._changed.wait_for(lambda: len(self._groups) <= slots and self._ready < READY, timeout)

    def room(self) -> int:
        """How many jobs to pull for the chunks that gather, beside those for slots."""
        if not self._groups:
            return 0
        with self._changed:
            return min(self._more, sum(group.size - len(group.attempts) for group in self._groups.values()))

    def pulled(self, found: int, is_backlog: bool) -> None:
        """A pull has returned so many jobs. Whether they are all that it asked for, and all for chunks."""
        self._more = min(2 * max(self._more, found), MORE) if is_backlog else 0
