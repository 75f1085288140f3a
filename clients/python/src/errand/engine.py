"""A running worker: it pulls jobs, runs their handlers, and passes on how they ended."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import psycopg

from .attempt import Context, Ended, PulledJob, run_coroutine, run_sync
from .calls import Call, run, run_again
from .chunk import key_of, run_chunk, run_chunk_coroutine
from .connections import commit_in_memory, connect, keep_running
from .gathering import Gathering
from .held import Attempt, Group, Held
from .lease import Lease
from .processes import Process
from .pulls import pull_call, pulled, register
from .telemetry import Metrics, serve
from .tracing import Tell, span, spans
from .transactions import IDLE, Transactions
from .writer import Writer

if TYPE_CHECKING:
    from .worker import Worker

log = logging.getLogger("errand")

#: How much work is pulled ahead, in seconds of all slots: enough for a round trip.
AHEAD = 0.05
#: How long a handler may take to stop when it is asked to, in seconds, before it is given up.
UNSTOPPABLE = 1
#: Before the pull after one that found some jobs, but fewer than it asked for, in seconds.
SOON = 0.003
#: The most jobs of one pull.
BATCH = 500


class Engine:
    """The parts of a worker. One thread pulls, one writes, one keeps the lease, one maintains, one runs the loop of
    async handlers, and others run one handler each."""

    def __init__(self, worker: Worker, conninfo: str, stop: threading.Event) -> None:
        worker.check()
        self._worker = worker
        self._conninfo = conninfo
        self._handlers = dict(worker.handlers)
        self._queues = sorted(worker.queues or {handler.queue or "default" for handler in self._handlers.values()})
        self._name = worker.name or f"{socket.gethostname()}:{os.getpid()}"
        self._stop = stop
        self._is_forced = threading.Event()
        self._is_woken = threading.Event()
        self._held = Held()
        self._gathering = Gathering(self._held)
        self._lease = Lease(conninfo, worker.lease, self._held)
        self._writer = Writer(conninfo, self._held)
        self._transactions = Transactions(conninfo)
        self._metrics = Metrics()
        self._mean_run = 0.01
        self._threads: queue.SimpleQueue[Attempt | Group | None] = queue.SimpleQueue()
        self._coroutines: deque[Attempt | Group] = deque()
        self._running_coroutines = 0
        self._loop = asyncio.new_event_loop()

    def run(self) -> None:
        """Runs until it is to stop, and all that it holds has ended."""
        if not self._register():
            return
        parts = [("pull", self._pull_on)]
        if self._worker.maintain:
            parts.append(("maintenance", self._maintain_on))
        threads = [
            threading.Thread(target=keep_running, args=(self._conninfo, what, body, self._stop), name=f"errand-{what}")
            for what, body in parts
        ]
        loop = threading.Thread(target=self._loop.run_forever, name="errand-loop")
        slots = [
            threading.Thread(target=self._slot, name=f"errand-{number}", daemon=True)
            for number in range(self._worker.concurrency)
            if any(not handler.is_async for handler in self._handlers.values())
        ]
        server = None
        if self._worker.port is not None:
            server = serve(
                self._worker.host, self._worker.port, lambda: self._metrics.text(self._running()),
                lambda: self._lease.is_held,
            )
        self._lease.start()
        self._writer.start()
        for thread in [*threads, loop, *slots]:
            thread.start()
        log.info("worker %s started: queues %s, kinds %s", self._name, self._queues, sorted(self._handlers))
        # A wait without an end would keep signals from Python.
        while not self._stop.wait(0.1):
            self._end_late_attempts()
            self._transactions.close(after=IDLE)
        for thread in threads:
            thread.join()
        self._drain()
        for _ in slots:
            self._threads.put(None)
        self._writer.finish()
        self._lease.end()
        self._loop.call_soon_threadsafe(self._loop.stop)
        loop.join()
        self._loop.close()
        self._transactions.close()
        if server is not None:
            server.shutdown()
            server.server_close()
        self._leave()
        log.info("worker %s stopped", self._name)

    def _register(self) -> bool:
        """Registers its kinds, as soon as the database can be reached. False if it is to stop before."""
        pause = 0.1
        while not self._stop.is_set():
            try:
                register(self._conninfo, list(self._handlers.values()))
                return True
            except psycopg.OperationalError as error:
                log.warning("waiting for the database: %s", str(error).strip())
                self._stop.wait(pause)
                pause = min(pause * 2, 5)
        return False

    def force(self) -> None:
        """Ends the grace of running handlers."""
        self._is_forced.set()

    def _running(self) -> int:
        return sum(attempt.began is not None for attempt in self._held.all())

    def _drain(self) -> None:
        """Waits for what runs, as long as the grace lasts, and hands back all else."""
        end = time.monotonic() + self._worker.grace
        for attempt in self._gathering.take():
            self._ended(attempt, Ended("release"))
        while (held := self._held.all()) and time.monotonic() < end and not self._is_forced.is_set():
            for attempt in held:
                if attempt.began is None:
                    attempt.context.stop("the worker stops")
            self._end_late_attempts()
            time.sleep(0.02)
        for attempt in held:
            attempt.interrupt("the worker stops")
        until = time.monotonic() + UNSTOPPABLE
        while (held := self._held.all()) and time.monotonic() < until:
            time.sleep(0.02)
        for attempt in held:
            self._ended(attempt, Ended("release"))

    def _end_late_attempts(self) -> None:
        """Interrupts attempts at their deadline. A thread can't be ended: what a handler does after it was given up is
        refused by the fence of its token."""
        now = time.monotonic()
        for attempt in self._held.all():
            if attempt.began is not None and now > attempt.context.deadline:
                attempt.interrupt("deadline exceeded")
                if now > attempt.context.deadline + UNSTOPPABLE:
                    self._ended(attempt, Ended("fail", error="deadline exceeded, and the handler did not stop"))

    def _leave(self) -> None:
        if self._lease.id is None:
            return
        try:
            with connect(self._conninfo, "errand leave") as connection:
                run(connection, Call("errand.leave", "*", {"worker": ("uuid", self._lease.id)}))
        except psycopg.Error as error:
            log.warning("leave: %s; the lease ends by itself", str(error).strip())

    # Pull

    def _pull_on(self, connection: psycopg.Connection) -> None:
        # A claim that is lost with the server's memory is made again.
        commit_in_memory(connection)
        connection.execute("listen errand_wake")
        # A notification may also come with the reply of a pull.
        connection.add_notify_handler(lambda _: self._is_woken.set())
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            self._pull_until_stop(connection.cursor(), selector)

    def _pull_until_stop(self, cursor: psycopg.Cursor, selector: selectors.BaseSelector) -> None:
        while not self._stop.is_set():
            slots = self._worker.concurrency
            ahead = min(int(slots * AHEAD / max(self._mean_run, 0.0001)), 2 * BATCH)
            more = self._gathering.room()
            if not more:
                # Not for each job that ends: a pull for one costs as much as for ten.
                self._held.wait_for_room(slots + ahead, max(1, (slots + ahead) // 2), self._worker.poll)
            room = max(0, slots + ahead - self._held.count())
            most = min(room + more, BATCH)
            if self._stop.is_set() or most == 0 or not self._gathering.fits(slots, min(self._worker.poll, 0.25)):
                continue
            id = self._lease.id
            self._is_woken.clear()
            rows = run_again(cursor, self._pull(id, most, max(0, slots - self._held.count())))
            self._lease.made_contact(str(rows[0][0]))
            jobs = [pulled(row) for row in rows if row[1] is not None]
            are_chunked = self._accept(jobs, room)
            self._gathering.pulled(len(jobs), are_chunked and len(jobs) == most)
            if len(jobs) < most and room > 0:
                # Only after a pull without jobs does every enqueue send a notification. Until then these jobs begin,
                # which another pull would delay.
                self._rest(selector, SOON if jobs else self._worker.poll)

    def _pull(self, worker_id: str | None, most: int, free: int) -> Call:
        return pull_call(
            self._queues, sorted(self._handlers), most, worker_id, self._worker.lease, free, self._name, listens=True
        )

    def _rest(self, selector: selectors.BaseSelector, most: float) -> None:
        """Waits for a notification, `most` seconds, or the stop, which it sees within 0.25 s."""
        end = time.monotonic() + most
        while not self._stop.is_set() and not self._is_woken.is_set() and (left := end - time.monotonic()) > 0:
            if selector.select(min(left, 0.25)):
                return

    def _accept(self, jobs: list[PulledJob], room: int) -> bool:
        """Has jobs begin or gather. Returns whether all of them are for chunks."""
        attempts = []
        for job in jobs:
            handler = self._handlers[job.kind]
            context = Context.starting(
                job, handler.deadline, self._conninfo, self._lease, self._transactions
            )
            attempts.append(Attempt(job, handler, context))
        self._held.add(attempts)
        others = [attempt for attempt in attempts if attempt.handler.chunk is None]
        if len(others) < len(attempts):
            self._gather([attempt for attempt in attempts if attempt.handler.chunk is not None])
        # What was pulled for chunks, and isn't for one, would wait here while another worker may be idle.
        for attempt in others[room:]:
            self._ended(attempt, Ended("release"))
        self._queue(others[:room])
        return not others

    def _queue(self, work: Sequence[Attempt | Group]) -> None:
        """Has them begin as soon as slots are free."""
        for one in work:
            if not one.handler.is_async:
                self._threads.put(one)
        if coroutines := [one for one in work if one.handler.is_async]:
            self._loop.call_soon_threadsafe(self._begin_coroutines, coroutines)

    def _gather(self, attempts: list[Attempt]) -> None:
        keyed: list[tuple[Attempt, Any]] = []
        for attempt in attempts:
            key, end = key_of(attempt.handler, attempt.context)
            if end is None:
                keyed.append((attempt, key))
            elif attempt.begin():
                with span(attempt.job) as tell:
                    tell(end.outcome(attempt.job), end.cause)
                self._ended(attempt, end)
        full, new = self._gathering.add(keyed)
        self._queue(full)
        for group in new:
            assert group.handler.chunk is not None
            self._loop.call_soon_threadsafe(self._loop.call_later, group.handler.chunk.within, self._end_window, group)

    def _end_window(self, group: Group) -> None:
        if self._gathering.end(group):
            self._queue([group])

    # Run

    def _begin_coroutines(self, more: Sequence[Attempt | Group]) -> None:
        self._coroutines.extend(more)
        while self._coroutines and self._running_coroutines < self._worker.concurrency:
            attempt = self._coroutines.popleft()
            if isinstance(attempt, Group):
                self._begin_chunk_coroutine(attempt)
                continue
            if not attempt.begin():
                self._ended(attempt, Ended("release"))
                continue
            self._running_coroutines += 1
            task = self._loop.create_task(self._run_coroutine(attempt))
            attempt.cancel = lambda task=task: self._loop.call_soon_threadsafe(task.cancel)

    async def _run_coroutine(self, attempt: Attempt) -> None:
        try:
            with span(attempt.job) as tell:
                end = await run_coroutine(attempt.handler, attempt.context)
                tell(end.outcome(attempt.job), end.cause)
            self._ended(attempt, end)
        finally:
            self._running_coroutines -= 1
            self._begin_coroutines([])

    def _slot(self) -> None:
        """One of the threads that run handlers; with processes, it has one of its own."""
        process = Process(self._conninfo) if self._worker.mode == "processes" else None
        while (attempt := self._threads.get()) is not None:
            if process is not None:
                process.prepare(attempt.handler)
            if isinstance(attempt, Group):
                self._run_chunk(attempt, process)
                continue
            if not attempt.begin():
                self._ended(attempt, Ended("release"))
                continue
            with span(attempt.job) as tell:
                if process is None:
                    end = run_sync(attempt.handler, attempt.context)
                else:
                    attempt.cancel = process.kill
                    [end] = process.run(attempt.handler, [attempt.context])
                tell(end.outcome(attempt.job), end.cause)
            attempt.cancel = None
            self._ended(attempt, end)
        if process is not None:
            process.close()

    def _begin_chunk_coroutine(self, group: Group) -> None:
        if begun := self._begun(group):
            self._running_coroutines += 1
            task = self._loop.create_task(self._run_chunk_coroutine(group, begun))
            group.cancel_by(lambda: self._loop.call_soon_threadsafe(task.cancel))

    async def _run_chunk_coroutine(self, group: Group, begun: list[Attempt]) -> None:
        try:
            with spans(attempt.job for attempt in begun) as tells:
                ends = await run_chunk_coroutine(group.handler, [attempt.context for attempt in begun])
                self._chunk_ended(group, begun, ends, tells)
        finally:
            self._running_coroutines -= 1
            self._begin_coroutines([])

    def _run_chunk(self, group: Group, process: Process | None) -> None:
        if not (begun := self._begun(group)):
            return
        contexts = [attempt.context for attempt in begun]
        with spans(attempt.job for attempt in begun) as tells:
            if process is None:
                ends = run_chunk(group.handler, contexts)
            else:
                group.cancel_by(process.kill)
                ends = process.run(group.handler, contexts)
            self._chunk_ended(group, begun, ends, tells)

    def _begun(self, group: Group) -> list[Attempt]:
        """The attempts of a chunk that begin now. All others are handed back."""
        self._gathering.begins(group)
        begun = group.begin()
        for attempt in group.attempts:
            if attempt.began is None:
                self._ended(attempt, Ended("release"))
        return begun

    def _chunk_ended(self, group: Group, begun: list[Attempt], ends: list[Ended], tells: list[Tell]) -> None:
        group.cancel_by(None)
        for attempt, end, tell in zip(begun, ends, tells, strict=True):
            tell(end.outcome(attempt.job), end.cause)
            self._ended(attempt, end)

    def _ended(self, attempt: Attempt, end: Ended) -> None:
        if not attempt.end():
            return
        if attempt.began is not None and end.verb != "release":
            took = time.monotonic() - attempt.began
            self._mean_run += (took - self._mean_run) * 0.05 / attempt.together
            self._metrics.add(attempt.job.kind, end.outcome(attempt.job), took / attempt.together)
        self._writer.add(attempt, end)

    # Maintenance

    def _maintain_on(self, connection: psycopg.Connection) -> None:
        next_tick = wait = 0.0
        while not self._stop.wait(min(wait, 0.5)):
            [[wait]] = run(connection, Call("errand.maintain", "extract(epoch from maintain)::float8", {}))
            if time.monotonic() >= next_tick:
                next_tick = time.monotonic() + 0.9
                run(connection, Call("errand.tick_schedules", "*", {}))
