"""Steps: what a job does once, whatever becomes of its attempts."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import becomes
from errand import Context, Errand, JobFailed, Stop, Worker
from handlers import five_steps, ship, ship_async, worker

HERE = Path(__file__).parent


@pytest.mark.parametrize("handler, mode", [(ship, "threads"), (ship, "processes"), (ship_async, "threads")])
def test_later_attempts_get_what_a_step_has_returned(
    handler: Any, mode: Any, errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    with running(Worker(handlers=worker.handlers, concurrency=4, poll=0.2, mode=mode)):
        booked = {"in": 1, "text": "é"}
        result = errand.enqueue(handler, {"attempts": 3}, follow=True).result(30)
        assert result == [booked, "charged", None, booked, 3]
    # The transaction of the first attempt was rolled back.
    assert db.execute("select text, count(*) from note group by 1 order by 1").fetchall() == [
        ("booked", 1), ("charged", 1)]


def test_an_attempt_that_is_over_records_nothing(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    ours = Worker(concurrency=2, poll=0.2)
    stops: list[str] = []

    def cancelled(context: Context) -> None:
        db.execute("select errand.cancel(%s, 'while it runs')", [[context.id]])

    @ours.job("over", queue="py")
    def over(how: str, context: Context) -> None:
        def booked(connection: psycopg.Connection) -> None:
            connection.execute("insert into note values ('booked')")
            cancelled(context)

        try:
            if how == "step":
                context.step("late", lambda: cancelled(context))
            else:
                context.step_transaction("late", booked)
        except Stop as stop:
            stops.append(str(stop))
            raise

    @ours.job("over_async", queue="py")
    async def over_async(how: str, context: Context) -> None:
        async def done() -> None:
            await asyncio.to_thread(cancelled, context)

        async def booked(connection: psycopg.AsyncConnection) -> None:
            await connection.execute("insert into note values ('booked')")
            await done()

        try:
            if how == "step":
                await context.async_step("late", done)
            else:
                await context.async_step_transaction("late", booked)
        except (Stop, asyncio.CancelledError) as stop:
            stops.append(str(stop) if isinstance(stop, Stop) else "cancelled")
            raise

    with running(ours):
        for handler in (over, over_async):
            for how in ("step", "transaction"):
                with pytest.raises(JobFailed, match="cancelled: while it runs"):
                    errand.enqueue(handler, how, follow=True).result(30)
        becomes(lambda: len(stops) == 4)
    late = "step late: nothing was recorded: the job is no longer this worker's"
    assert stops[:2] == [late, late] and set(stops) <= {late, "cancelled"}
    assert db.execute("select count(*) from errand.step where name = 'late'").fetchone() == (0,)
    assert db.execute("select count(*) from note").fetchone() == (0,)


def test_a_record_waits_for_a_lock_of_the_job(errand: Errand, owner: str, db: psycopg.Connection, running: Any) -> None:
    ours = Worker(concurrency=4, poll=0.2)
    began = threading.Barrier(4)

    def wait() -> str:
        began.wait(30)
        began.wait(30)
        return "waited"

    async def wait_async() -> str:
        return await asyncio.to_thread(wait)

    @ours.job("locked", queue="py")
    def locked(how: str, context: Context) -> Any:
        return context.step(how, wait) if how == "step" else context.step_transaction(how, lambda _: wait())

    @ours.job("locked_async", queue="py")
    async def locked_async(_: None, context: Context) -> Any:
        return await context.async_step("async", wait_async)

    with running(ours):
        jobs = [errand.enqueue(locked, how, follow=True) for how in ("step", "transaction")]
        jobs.append(errand.enqueue(locked_async, follow=True))
        began.wait(30)
        with psycopg.connect(owner) as session:
            session.execute("select from errand.job for update")
            began.wait(30)
            # Longer than errand.step waits by itself.
            time.sleep(1.5)
        assert [job.result(30) for job in jobs] == ["waited"] * 3
    assert db.execute("select max(attempt) from errand.history").fetchone() == (1,)


@pytest.mark.parametrize(
    "name, output, error", [
        ("", None, "name: expected 1 to 200 characters, got ''"), ("n" * 201, None, "expected 1 to 200 characters"),
        ("a\nb", None, "expected 1 to 200 characters"), ("object", object(), "step object: expected a value of JSON"),
        ("large", "x" * 300_000, "expected at most 262144 bytes as text"),
    ],
)
def test_names_and_outputs_out_of_bounds_fail_the_attempt(
    name: str, output: Any, error: str, errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    ours = Worker(poll=0.2)
    called: list[str] = []

    @ours.job("bounds", queue="py", max_attempts=1)
    def bounds(payload: None, context: Context) -> None:
        context.step(name, lambda: (called.append(name), output)[1])

    with running(ours), pytest.raises(JobFailed, match=error):
        errand.enqueue(bounds, follow=True).result(30)
    # A name is refused before the effect.
    assert called == ([name] if name in ("object", "large") else [])


def test_no_step_runs_again_after_its_record(
    errand: Errand, worker_login: str, db: psycopg.Connection, tmp_path: Path
) -> None:
    """Workers are killed by SIGKILL and stopped by SIGTERM, and attempts end by snoozes, failures and releases."""
    is_full = os.environ.get("ERRAND_FAULTS") == "full"
    count = 10_000 if is_full else 60
    db.execute("create table if not exists ran (job bigint, name text, at timestamptz default clock_timestamp())")
    db.execute("truncate ran, errand.step")
    db.execute("grant insert on ran to python_worker")
    db.execute("select errand.enqueue(%s, queue => 'py', max_attempts => 1000) from generate_series(1, %s)",
               [five_steps.kind, count])

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "errand", "worker", "handlers:worker"]
        with (tmp_path / "log").open("ab") as log:
            return subprocess.Popen(command, cwd=HERE, env={**os.environ, "DATABASE_URL": worker_login}, stderr=log)

    workers = [start(), start()]
    until = time.monotonic() + (3600 if is_full else 120)
    kills = 0
    try:
        while db.execute("select exists (select from errand.job)").fetchone() == (True,):
            assert time.monotonic() < until, (tmp_path / "log").read_text()[-4000:]
            time.sleep(random.uniform(1, 5) if is_full else random.uniform(0.5, 1.5))
            ended = workers.pop(0)
            ended.send_signal(random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            kills += ended.wait(60) == -signal.SIGKILL
            workers.append(start())
            with db.transaction():
                # As its lease would end. The count of crashes would have jobs fail.
                db.execute("update errand.worker set heartbeat_at = now() - lease - interval '1 s', "
                           "missed_at = now() - 2 * heartbeat_interval where name like %s", [f"%:{ended.pid}"])
                db.execute("select errand_internal.rescue()")
                db.execute("update errand.job set crashes = 0 where crashes > 0 and state <> 'running'")
    finally:
        for started in workers:
            started.kill()
            started.wait()
    print(f"{kills} kills, {db.execute('select count(*) from ran').fetchone()} bodies of {5 * count} steps")
    assert db.execute("select count(*) from errand.history where state = 'succeeded'").fetchone() == (count,)
    assert db.execute("select count(*) from errand.step").fetchone() == (5 * count,)
    assert db.execute("select count(*) from (select distinct job, name from ran) as once").fetchone() == (5 * count,)
    assert db.execute(
        "select count(*) from ran join errand.step on job_id = job and step.name = ran.name where at > recorded_at"
    ).fetchone() == (0,)
