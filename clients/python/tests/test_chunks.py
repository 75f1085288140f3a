"""Handlers of many jobs at once."""

import asyncio
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from conftest import becomes
from errand import ChunkJob, Context, Errand, Middleware, Permanent, Request, Snooze, Worker
from errand.doctor import read_payloads
from errand.testing import TestQueue
from handlers import chunked, mixed

#: Longer than a test: such a chunk begins only when it is full.
NEVER = 60

Chunks = list[list[Any]]


def counted(db: psycopg.Connection, what: str) -> int:
    row = db.execute(f"select count(*) from {what}").fetchone()
    return int(row[0]) if row else 0


def states(db: psycopg.Connection) -> list[str]:
    rows = db.execute(
        "select id, state::text from errand.job union all select id, 'failed' from errand.failed "
        "union all select id, state::text from errand.history order by 1")
    return [state for _, state in rows]


def enqueue(errand: Errand, kind: Any, *payloads: Any, **options: Any) -> list[int]:
    return [job.id for job in errand.enqueue_many([Request(kind, payload, **options) for payload in payloads])]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_backlog_runs_in_full_chunks_of_a_key(
    is_async: bool, errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    seen: Chunks = []
    worker = Worker(poll=NEVER)

    def count(jobs: list[ChunkJob[Any]]) -> None:
        seen.append([job.payload["page"] for job in jobs])

    async def count_async(jobs: list[ChunkJob[Any]]) -> None:
        count(jobs)

    handler = worker.chunk("view", size=100, within=NEVER, by=lambda view: view["page"])(
        count_async if is_async else count)
    enqueue(errand, handler, *[{"page": number % 10} for number in range(1000)])
    with running(worker):
        becomes(lambda: counted(db, "errand.history where state = 'succeeded'") == 1000)
    assert sorted(seen) == [[page] * 100 for page in range(10)]


@dataclass
class View:
    page: str


def test_what_has_come_within_the_window_is_a_chunk_and_others_run_meanwhile(
    errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    seen: Chunks = []
    held = threading.Event()
    worker = Worker(concurrency=2, poll=0.2)

    @worker.chunk("view", size=50, within=0.3)
    def count(jobs: list[ChunkJob[View]]) -> None:
        seen.append([job.payload.page for job in jobs])
        held.wait(20)

    @worker.job("plain")
    def plain(payload: Any) -> str:
        return "ran"

    with running(worker):
        enqueue(errand, count, *[View(page) for page in "abc"])
        becomes(lambda: counted(db, "errand.job where state = 'running'") == 3)
        assert errand.enqueue(plain, follow=True).result(30) == "ran"
        enqueue(errand, count, View("d"))
        becomes(lambda: seen)
        # It has one slot of the two.
        assert errand.enqueue(plain, follow=True).result(30) == "ran"
        held.set()
        becomes(lambda: counted(db, "errand.job") == 0)
    assert sorted(seen[0])[:3] == ["a", "b", "c"] and sum(map(len, seen)) == 4


def test_while_more_gather_than_there_are_slots_nothing_is_pulled(
    errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    seen: list[str] = []
    running_now = Counter[str]()
    most = 0
    worker = Worker(concurrency=1, poll=0.2)

    @worker.chunk("view", size=2, within=0.3, by=lambda view: view["page"])
    async def count(jobs: list[ChunkJob[Any]]) -> None:
        nonlocal most
        running_now["chunks"] += 1
        most = max(most, running_now["chunks"])
        seen.append("chunk")
        await asyncio.sleep(0.02)
        running_now["chunks"] -= 1

    @worker.job("plain")
    async def plain(payload: Any) -> None:
        seen.append("plain")

    with running(worker):
        enqueue(errand, count, *[{"page": page} for page in range(4)])
        becomes(lambda: counted(db, "errand.job where state = 'running'") == 4)
        enqueue(errand, plain, {})
        becomes(lambda: counted(db, "errand.job") == 0)
    assert seen[0] == "chunk" and Counter(seen) == {"chunk": 4, "plain": 1}
    assert most == 1


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_each_job_has_an_outcome_of_its_own(mode: Any, errand: Errand, db: psycopg.Connection, running: Any) -> None:
    hows = {
        "output": "succeeded", "error": "scheduled", "permanent": "failed", "snooze": "scheduled",
        "later": "scheduled", "wait": "parked", "unfit": "failed", "transaction": "succeeded", "step": "succeeded",
        "none": "succeeded"}
    with running(Worker(handlers=chunked.handlers, concurrency=2, poll=0.2, mode=mode)):
        ids = enqueue(errand, mixed, *[{"how": how} for how in hows])
        [unlike] = enqueue(errand, mixed, "unlike", max_attempts=1)
        becomes(lambda: states(db) == [*hows.values(), "failed"])
        if mode == "processes":
            more = enqueue(errand, mixed, *[{"all": how} for how in ("crash", "hang") * 2], max_attempts=1)
            becomes(lambda: counted(db, "errand.failed") == 7)
            errors = dict(db.execute("select id, error from errand.failed where id = any (%s)", [more]).fetchall())
            assert ["SIGKILL" in errors[id] for id in more] == [True, False] * 2
            assert ["deadline exceeded" in errors[id] for id in more] == [False, True] * 2
    assert db.execute(
        "select output from errand.history where id = any (%s) order by id", [ids]).fetchall() == [
            (["output", 1],), ("committed",), ("stepped",), (None,)]
    assert counted(db, "note") == 1
    attempts = db.execute("select attempt from errand.job order by id").fetchall()
    assert [attempt for (attempt,) in attempts] == [1, 0, 1, 0]
    errors = dict(db.execute("select id, error from errand.failed").fetchall())
    of = dict(zip(hows, ids, strict=True))
    assert errors[of["permanent"]] == "never" and "expected a value of JSON" in errors[of["unfit"]]
    assert "AttributeError" in errors[unlike]


def test_what_counts_for_all(owner: str, errand: Errand, db: psycopg.Connection) -> None:
    queue = TestQueue(owner, chunked)
    for how, outcomes, error in [
        ("raise", ["retried"] * 3, "KeyError: 'all of them'"),
        ("few", ["failed"] * 3, "chunk: expected None, or a list with an outcome for each of 3 jobs, got 1"),
        ("odd", ["failed"] * 3, "chunk: expected None, or a list with an outcome for each of 3 jobs, got dict"),
        ("none", ["succeeded"] * 3, None),
    ]:
        enqueue(errand, mixed, *[{"all": how} for _ in range(3)])
        ran = queue.drain()
        assert [(one.outcome, one.error) for one in ran] == [(outcome, error) for outcome in outcomes]
    assert mixed([ChunkJob({"how": "snooze"}, None)])[0].delay.total_seconds() == 3600


def test_a_payload_that_is_not_such_fails_alone(owner: str, errand: Errand, db: psycopg.Connection) -> None:
    seen: Chunks = []
    worker = Worker()

    @worker.chunk("kit_view", size=3, within=1, max_attempts=1)
    async def count(jobs: Sequence[ChunkJob[View]]) -> list[str]:
        seen.append([job.payload for job in jobs])
        return [job.payload.page for job in jobs]

    @worker.chunk("kit_odd_key", size=3, within=1, by=lambda payload: payload, max_attempts=1)
    def odd(jobs: list[ChunkJob[Any]]) -> None: ...

    enqueue(errand, count, {"page": "a"}, {"pgae": "b"}, {"page": "c"}, {"page": "d"})
    enqueue(errand, odd, {"un": "hashable"}, "hashable")
    ran = TestQueue(owner, worker).drain()
    assert seen == [[View("a"), View("c")], [View("d")]]
    ends = {(one.outcome, one.output, (one.error or "").partition(":")[0]) for one in ran}
    assert ends == {
        ("succeeded", '"a"', ""), ("failed", None, "payload"), ("succeeded", '"c"', ""), ("succeeded", '"d"', ""),
        ("failed", None, "TypeError"), ("succeeded", None, "")}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_job_is_cancelled_alone_and_a_chunk_once_all_are(
    is_async: bool, errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    begun: list[list[Context]] = []
    ended: list[str] = []
    is_over = threading.Event()
    worker = Worker(poll=0.2, concurrency=2)

    def wait(jobs: list[ChunkJob[Any]]) -> None:
        begun.append([job.context for job in jobs])
        while not is_over.wait(0.01):
            if all(job.context.is_stopped for job in jobs):
                ended.append("told")
                return

    async def wait_async(jobs: list[ChunkJob[Any]]) -> None:
        begun.append([job.context for job in jobs])
        try:
            while not is_over.is_set():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            ended.append("told")
            raise

    handler = worker.chunk("view", size=3, within=NEVER)(wait_async if is_async else wait)
    with running(worker):
        jobs = [errand.enqueue(handler, follow=True) for _ in range(3)]
        becomes(lambda: begun)
        assert jobs[1].cancel("not this one")
        becomes(lambda: [context.is_stopped for context in begun[0]].count(True) == 1)
        is_over.set()
        becomes(lambda: states(db) == ["succeeded", "cancelled", "succeeded"])
        is_over.clear()
        jobs = [errand.enqueue(handler, follow=True) for _ in range(3)]
        becomes(lambda: len(begun) == 2)
        assert all(job.cancel("none of them") for job in jobs)
        becomes(lambda: ended)
        # Its slots are free again.
        is_over.set()
        jobs = [errand.enqueue(handler, follow=True) for _ in range(6)]
        assert [job.wait(30).state for job in jobs] == ["succeeded"] * 6
    assert ended == ["told"]


def test_at_its_deadline_each_job_has_failed(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    worker = Worker(poll=0.2)

    @worker.chunk("hang", size=3, within=NEVER, deadline=0.3, max_attempts=1)
    async def hang(jobs: list[ChunkJob[Any]]) -> None:
        await asyncio.sleep(30)

    with running(worker):
        enqueue(errand, hang, 1, 2, 3)
        becomes(lambda: counted(db, "errand.failed") == 3)
    assert db.execute("select distinct error from errand.failed").fetchall() == [("deadline exceeded",)]


def test_a_worker_that_stops_hands_back_what_gathers(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    worker = Worker(poll=0.2)

    @worker.chunk("view", size=3, within=NEVER)
    def count(jobs: list[ChunkJob[Any]]) -> None: ...

    with running(worker):
        enqueue(errand, count, 1, 2)
        becomes(lambda: counted(db, "errand.job where state = 'running'") == 2)
    assert counted(db, "errand.job where state = 'available' and attempt = 0") == 2


class Tenant(Middleware):
    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def run(self, context: Context, next: Callable[[], Any]) -> Any:
        self.seen.append("one")
        return next()

    def run_chunk(self, contexts: Sequence[Context], next: Callable[[], Any]) -> Any:
        self.seen.append(f"{len(contexts)} of {contexts[0].job.kind}")
        try:
            return next()
        except KeyError:
            return [Snooze(60) for _ in contexts]

    async def async_run_chunk(self, contexts: Sequence[Context], next: Callable[[], Any]) -> Any:
        self.seen.append(f"{len(contexts)} awaited")
        return await next()

    def decode(self, kind: str, payload: Any) -> Any:
        if payload == "unlike":
            raise Permanent("no payload of ours")
        return payload


class Single(Middleware):
    def run(self, context: Context, next: Callable[[], Any]) -> Any:
        return next()


def test_middleware_runs_once_around_a_chunk(owner: str, errand: Errand, db: psycopg.Connection) -> None:
    seen: list[str] = []
    worker = Worker(middleware=[Tenant(seen), Tenant(seen)])

    @worker.chunk("kit_view", size=100, within=1)
    def count(jobs: list[ChunkJob[Any]]) -> None:
        seen.append("handler")
        raise KeyError

    @worker.chunk("kit_view_async", size=100, within=1)
    async def count_async(jobs: list[ChunkJob[Any]]) -> None: ...

    enqueue(errand, count, 1, 2, "unlike")
    assert [one.outcome for one in TestQueue(owner, worker).drain()] == ["snoozed", "snoozed", "failed"]
    assert seen == ["2 of kit_view", "2 of kit_view", "handler"]
    enqueue(errand, count_async, 1)
    assert [one.outcome for one in TestQueue(owner, worker).drain()] == ["succeeded"]
    assert seen[3:] == ["1 awaited", "1 awaited"]


def test_middleware_that_would_be_left_out_is_refused() -> None:
    worker = Worker(middleware=[Single()])

    @worker.chunk("view_async", size=2, within=1)
    async def count_async(jobs: list[ChunkJob[Any]]) -> None: ...

    worker.check()
    worker.chunk("view", size=2, within=1)(lambda jobs: None)
    with pytest.raises(TypeError, match="view: middleware: expected Single.run_chunk beside its run, got none"):
        worker.check()


def test_metrics_and_doctor_know_each_job(
    owner: str, errand: Errand, db: psycopg.Connection, running: Any, free_port: int
) -> None:
    worker = Worker(poll=0.2, port=free_port)

    @worker.chunk("metered", size=4, within=NEVER, by=lambda view: view.page[0], max_attempts=1)
    def count(jobs: list[ChunkJob[View]]) -> list[Any]:
        time.sleep(0.1)
        return [None, None, None, Permanent("no")]

    enqueue(errand, count, *[{"page": "a"}] * 4, {"pgae": "b"}, {"page": ""})
    read, unreadable = read_payloads(owner, worker.handlers)
    assert read == 6 and [(one.jobs, one.reason) for one in unreadable] == [
        (1, "by: IndexError"), (1, "pgae: expected no such field")]
    began = time.monotonic()
    with running(worker):
        becomes(lambda: counted(db, "errand.history") == 3 == counted(db, "errand.failed"))
        elapsed = time.monotonic() - began
        with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/metrics", timeout=5) as response:
            lines = dict(line.rsplit(" ", 1) for line in response.read().decode().splitlines())
    assert lines['errand_client_attempts_total{kind="metered",outcome="succeeded"}'] == "3"
    assert lines['errand_client_attempts_total{kind="metered",outcome="failed"}'] == "3"
    took = float(lines['errand_client_run_seconds_total{kind="metered",outcome="succeeded"}'])
    assert 0.07 < took < 0.75 * elapsed, "a job has its part of the chunk's time"


@pytest.mark.parametrize(("options", "error"), [
    ({"size": 0}, "size: expected 1 to 1000, got 0"), ({"size": 1001}, "size: expected 1 to 1000, got 1001"),
    ({"size": "2"}, "size: expected a number of jobs"), ({"size": True}, "size: expected a number of jobs"),
    ({"within": -1}, "within: expected 0 to 60 s, got -1"), ({"within": 61}, "within: expected 0 to 60 s"),
    ({"by": "page"}, "by: expected a function"), ({"retry": 3}, "retry: expected a list"),
    ({"deadline": 0}, "deadline: expected more"),
])
def test_unfit_options_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        Worker().chunk("view", **{"size": 2, "within": 1, **options})


def test_unfit_functions_are_refused() -> None:
    worker = Worker()
    with pytest.raises(TypeError, match=r"expected \(jobs\), got 2"):
        worker.chunk("view", size=2, within=1)(lambda jobs, context: None)
    with pytest.raises(TypeError, match='as in @worker.chunk'):
        worker.chunk(len, size=2, within=1)  # type: ignore[arg-type]
