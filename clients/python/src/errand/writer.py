"""Writes the outcomes of attempts: all that have ended since the last write, in one call each for done, fail, snooze
and release."""

from __future__ import annotations

import logging
import threading
from collections import deque

import psycopg

from .attempt import Ended, PulledJob, told
from .calls import Call, run_again
from .connections import keep_running
from .errors import Invalid
from .held import Attempt, Held

log = logging.getLogger("errand")

#: The most outcomes of one call.
BATCH = 500
#: Before the outcome of a job whose row another session has locked is written again, in seconds.
LOCKED = 0.05


class Writer:
    def __init__(self, conninfo: str, held: Held) -> None:
        self._conninfo = conninfo
        self._held = held
        self._ends: deque[tuple[Attempt, Ended]] = deque()
        self._has_ends = threading.Event()
        self._is_last = False
        self._written = threading.Event()
        self._thread = threading.Thread(
            target=lambda: keep_running(conninfo, "completions", self._write_on, self._written), name="errand-writer"
        )

    def start(self) -> None:
        self._thread.start()

    def add(self, attempt: Attempt, end: Ended) -> None:
        self._ends.append((attempt, end))
        self._has_ends.set()

    def finish(self) -> None:
        """Waits until all is written that was added."""
        self._is_last = True
        self._has_ends.set()
        self._thread.join()

    def _write_on(self, connection: psycopg.Connection) -> None:
        cursor = connection.cursor()
        while self._ends or not self._is_last:
            if not self._ends:
                self._has_ends.wait(1)
            self._has_ends.clear()
            batch: dict[str, tuple[Attempt, Ended]] = {}
            while self._ends and len(batch) < BATCH:
                attempt, end = self._ends.popleft()
                batch[attempt.job.token] = (attempt, end)
            try:
                self._write(cursor, batch)
            except psycopg.Error:
                # What was written is stale the second time.
                self._ends.extendleft(batch.values())
                raise
        self._written.set()

    def _write(self, cursor: psycopg.Cursor, batch: dict[str, tuple[Attempt, Ended]]) -> None:
        followed: list[tuple[int, str]] = []
        finished: list[str] = []
        for verb in ("done", "fail", "snooze", "wait_for", "release"):
            tokens = [token for token, (_, end) in batch.items() if end.verb == verb]
            if not tokens:
                continue
            try:
                rows = run_again(cursor, told(verb, tokens, [batch[token][1] for token in tokens]))
            except (psycopg.DataError, Invalid) as error:
                # One of them has what PostgreSQL can't store, as a NUL.
                self._write_one_by_one(cursor, {token: batch[token] for token in tokens}, error)
                continue
            for token, _, result in rows:
                attempt, end = batch[token]
                if result == "again":
                    threading.Timer(LOCKED, self.add, (attempt, end)).start()
                    continue
                finished.append(token)
                if result == "stale" and end.may_be_told:
                    if attempt.job.is_followed:
                        followed.append((attempt.job.id, "succeeded"))
                elif result != "stale" and attempt.job.is_followed and (state := _state(attempt.job, end, result)):
                    followed.append((attempt.job.id, state))
                elif result == "stale" and verb != "release":
                    log.warning("job %s is no longer this worker's: its outcome changed nothing", attempt.job.id)
        for token, (attempt, end) in batch.items():
            if end.verb is None:
                finished.append(token)
                if attempt.job.is_followed:
                    followed.append((attempt.job.id, "succeeded"))
        self._held.drop(finished)
        if followed:
            # After the commit: with it, NOTIFY would make all commits of the server wait for each other.
            arguments = {
                "ids": ("bigint[]", [id for id, _ in followed]),
                "states": ("text[]", [state for _, state in followed]),
            }
            run_again(cursor, Call("errand_internal.tell_ended_v1", "*", arguments))

    def _write_one_by_one(
        self, cursor: psycopg.Cursor, batch: dict[str, tuple[Attempt, Ended]], error: Exception
    ) -> None:
        if len(batch) > 1:
            for token, one in batch.items():
                self._write(cursor, {token: one})
        else:
            [(attempt, _)] = batch.values()
            message = f"its outcome can't be stored: {type(error).__name__}"
            self._write(cursor, {attempt.job.token: (attempt, Ended("fail", error=message))})


def _state(job: PulledJob, end: Ended, result: str) -> str | None:
    """The state of a job that has ended with this attempt; None if another attempt follows."""
    if result == "obsolete":
        return "obsolete"
    outcome = end.outcome(job)
    return outcome if outcome in ("succeeded", "failed") else None
