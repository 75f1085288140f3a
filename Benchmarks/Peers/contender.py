"""What all peers have in common: a contender's command line, the timetable of its producers, the count of its jobs.

    python peer_NAME.py describe
    python peer_NAME.py setup
    python peer_NAME.py enqueue --jobs N [--batch B] [--bytes P]
    python peer_NAME.py produce --clients C --seconds S [--rate R] [--jobs N] [--transactional]
    python peer_NAME.py work [--handler-us U] [--latencies]

DATABASE_URL names the database. Ends with 0 when done, 2 on wrong usage, else with 1 and one line on standard error.
Each peer_NAME.py is a Peer: only what differs between the peers stands there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import signal
import string
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib.metadata import version
from typing import TextIO

Payload = dict[str, int | str]
Enqueue = Callable[[Payload], Awaitable[object]]
EnqueueMany = Callable[[list[Payload]], Awaitable[object]]

PAYLOAD_BYTES = 100
LETTERS = string.ascii_letters + string.digits + "-_"
REPORT_SECONDS = 0.1
MAKE_ORDERS = "create table if not exists bench_order (id bigint generated always as identity primary key, note text)"
INSERT_ORDER = "insert into bench_order (note) values ('paid')"


def text(payload: Payload) -> str:
    """The payload as JSON without spaces."""
    return json.dumps(payload, separators=(",", ":"))


def payload(t: int | None = None, size: int = PAYLOAD_BYTES) -> Payload:
    """A payload of that many bytes of JSON, with the time of the call in it where there is one.

    One that is larger than usual is of text that no server can compress.
    """
    made: Payload = {"fill": ""} if t is None else {"t": t, "fill": ""}
    count = max(0, size - len(text(made)))
    made["fill"] = "x" * count if size == PAYLOAD_BYTES else "".join(random.choices(LETTERS, k=count))
    return made


def microseconds() -> int:
    """Since 1970."""
    return time.time_ns() // 1_000


class Timetable:
    """When each job is due, in seconds since the start: evenly spaced, and a late one does not move the next.

    Without a rate a job is due whenever a client is free. All clients share one table, so that a slow call holds up
    nobody as long as another client is free.
    """

    def __init__(self, seconds: float, rate: float | None, jobs: int | None) -> None:
        self.seconds = seconds
        self.rate = rate
        self.left = jobs
        self.given = 0

    def next(self, now: float) -> float | None:
        """The time at which the next job is due; None when it is over."""
        due = now if self.rate is None else self.given / self.rate
        if due >= self.seconds or self.given == self.left:
            return None
        self.given += 1
        return due


class Meter:
    """Counts the handlers that begin, and says so every 100 ms from a thread, which no busy event loop delays."""

    def __init__(self, handler_us: int, latencies: bool, out: TextIO) -> None:
        self.burn_ns = handler_us * 1_000
        self.latencies: list[int] | None = [] if latencies else None
        self.out = out
        self.ran = 0
        self.said = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.report, daemon=True)

    def ready(self) -> None:
        """To be called once the worker would take jobs; only the first call counts."""
        if not self.thread.is_alive():
            self.say("ready\n")
            self.thread.start()

    def began(self, job: Payload | str | bytes) -> None:
        """The handler of all peers. JSON is read only where its time is wanted."""
        if not self.ran:
            self.say("first\n")
        self.ran += 1
        if self.latencies is not None:
            sent = (job if isinstance(job, dict) else json.loads(job)).get("t")
            if sent is not None:
                self.latencies.append(microseconds() - int(sent))
        if self.burn_ns:
            end = time.thread_time_ns() + self.burn_ns
            while time.thread_time_ns() < end:
                pass

    def end(self) -> None:
        """Says what was not said yet."""
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()

    def report(self) -> None:
        while not self.ended.wait(REPORT_SECONDS):
            self.say(self.news())
        self.say(self.news())

    def news(self) -> str:
        lines = []
        if self.latencies:
            # Cut where it is now: handlers go on appending meanwhile.
            count = len(self.latencies)
            lines += [f"us {time}\n" for time in self.latencies[:count]]
            del self.latencies[:count]
        if (ran := self.ran) != self.said:
            self.said = ran
            lines.append(f"ran {ran}\n")
        return "".join(lines)

    def say(self, lines: str) -> None:
        if lines:
            self.out.write(lines)
            self.out.flush()


class Peer(ABC):
    """A queue system: what it is, and the calls that its documentation recommends for each command."""

    name: str
    package: str
    """As PyPI calls it."""
    settings: str
    finished_job_is: str
    unfinished: str
    """SQL that is true while any job isn't finished."""
    bulk: str
    batch: int
    """Jobs in one call of `many`, unless the command line says otherwise."""
    uvloop = False
    """Whether it documents uvloop."""

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    async def setup(self) -> None:
        """Makes its schema, and the table bench_order."""

    @abstractmethod
    def many(self) -> AbstractAsyncContextManager[EnqueueMany]:
        """A connection, and what enqueues many jobs on it."""

    @abstractmethod
    def one(self, transactional: bool) -> AbstractAsyncContextManager[Enqueue]:
        """A connection, and what enqueues one job on it and commits; where transactional, together with an order."""

    @abstractmethod
    async def work(self, meter: Meter, stop: asyncio.Event) -> None:
        """Runs one worker until `stop` is set and the jobs in hand have finished."""


def describe(kind: type[Peer]) -> None:
    print(json.dumps({
        "name": kind.name, "version": version(kind.package), "settings": kind.settings,
        "finished_job_is": kind.finished_job_is, "unfinished": kind.unfinished, "bulk": kind.bulk,
        "language": f"Python {'.'.join(platform.python_version_tuple()[:2])}"}))


async def enqueue(peer: Peer, jobs: int, batch: int, size: int) -> None:
    made = payload(size=size)
    async with peer.many() as many:
        start = time.monotonic()
        for done in range(0, jobs, batch):
            await many([made] * min(batch, jobs - done))
        print(json.dumps({"seconds": time.monotonic() - start}))


async def produce(peer: Peer, clients: int, timetable: Timetable, transactional: bool) -> None:
    latencies: list[int] = []

    async def client(one: Enqueue) -> None:
        while (due := timetable.next(time.monotonic() - start)) is not None:
            if (early := due - (time.monotonic() - start)) > 0:
                await asyncio.sleep(early)
            begun = time.perf_counter_ns()
            await one(payload(microseconds()))
            latencies.append((time.perf_counter_ns() - begun) // 1_000)

    async with AsyncExitStack() as stack:
        ones = [await stack.enter_async_context(peer.one(transactional)) for _ in range(clients)]
        start = time.monotonic()
        await asyncio.gather(*map(client, ones))
        seconds = time.monotonic() - start
    print(json.dumps({"jobs": len(latencies), "seconds": seconds, "latency_us": latencies}))


async def first_of(stop: asyncio.Event, runs: Sequence[asyncio.Task[None]]) -> None:
    """Waits until the worker is to stop, or one of its parts has ended, which none does but by failing."""
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({*runs, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()


async def work(peer: Peer, meter: Meter) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    try:
        await peer.work(meter, stop)
    finally:
        meter.end()


def positive(word: str) -> float:
    if (number := float(word)) > 0:
        return number
    raise argparse.ArgumentTypeError(f"{word} is not above 0")


def count(word: str) -> int:
    if (number := int(word)) > 0:
        return number
    raise argparse.ArgumentTypeError(f"{word} is not above 0")


def arguments(words: Sequence[str] | None, batch: int) -> argparse.Namespace:
    """What the command line says; ends with 2 where it says nothing that is known."""
    parser = argparse.ArgumentParser(description="A contender of the benchmarks.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("describe")
    commands.add_parser("setup")
    bulk = commands.add_parser("enqueue")
    bulk.add_argument("--jobs", type=count, required=True)
    bulk.add_argument("--batch", type=count, default=batch)
    bulk.add_argument("--bytes", type=count, default=PAYLOAD_BYTES)
    single = commands.add_parser("produce")
    single.add_argument("--clients", type=count, required=True)
    single.add_argument("--seconds", type=positive, required=True)
    single.add_argument("--rate", type=positive)
    single.add_argument("--jobs", type=count)
    single.add_argument("--transactional", action="store_true")
    worker = commands.add_parser("work")
    worker.add_argument("--handler-us", type=int, default=0)
    worker.add_argument("--latencies", action="store_true")
    return parser.parse_args(words)


def main(kind: type[Peer]) -> None:
    chosen = arguments(None, kind.batch)
    if chosen.command == "describe":
        return describe(kind)
    url = os.environ.get("DATABASE_URL")
    if not url:
        sys.exit(f"{kind.name}: DATABASE_URL names no database")
    peer = kind(url)
    match chosen.command:
        case "setup":
            command = peer.setup()
        case "enqueue":
            command = enqueue(peer, chosen.jobs, chosen.batch, chosen.bytes)
        case "produce":
            timetable = Timetable(chosen.seconds, chosen.rate, chosen.jobs)
            command = produce(peer, chosen.clients, timetable, chosen.transactional)
        case _:
            command = work(peer, Meter(chosen.handler_us, chosen.latencies, sys.stdout))
    factory = None
    if kind.uvloop:
        import uvloop
        factory = uvloop.new_event_loop
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(command)
    except Exception as error:
        sys.exit(f"{kind.name}: {type(error).__name__}: {' '.join(str(error).split())}")
