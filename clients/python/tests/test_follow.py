"""A job of one's own is seen, waited for and cancelled by its login."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from conftest import becomes
from errand import AsyncErrand, Errand, Invalid, JobFailed, NotFound, Permanent, Worker

worker = Worker(poll=0.2, concurrency=4)


@worker.job("sum")
async def add(payload: dict[str, Any]) -> int:
    if not payload["of"]:
        raise Permanent("nothing to add")
    return sum(payload["of"])


def test_results(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    with running(worker):
        job = errand.enqueue(add, {"of": [1, 2]}, follow=True)
        assert job.result(timeout=20) == 3
        assert job.result(timeout=20) == 3  # known already
        status = job.status()
        assert status is not None and (status.state, status.output) == ("succeeded", 3)
        with pytest.raises(JobFailed, match="nothing to add") as failed:
            errand.enqueue(add, {"of": []}, follow=True).result(timeout=20)
        assert failed.value.end.state == "failed"
        with pytest.raises(NotFound):
            errand.enqueue(add, {"of": [1]}).result(timeout=20)


def test_waits_share_connections_and_outlive_them(app: str, db: psycopg.Connection) -> None:
    async def body() -> None:
        async with AsyncErrand(app) as errand:
            jobs = [await errand.enqueue("slow_sum", follow=True) for _ in range(300)]
            waits = [asyncio.create_task(job.result(timeout=60)) for job in jobs]
            listening = "select count(*) from pg_stat_activity where application_name = 'errand results'"
            for _ in range(2):
                await asyncio.to_thread(becomes, lambda: db.execute(listening).fetchone() == (1,))
                db.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'errand results'")
            db.execute("""
                with done as (delete from errand.job where kind = 'slow_sum' returning *)
                insert into errand.history (
                    id, queue, kind, priority, max_attempts, created_at, run_at, attempt, crashes, options, state, output)
                select id, queue, kind, priority, max_attempts, created_at, run_at, 1, 0, options, 'succeeded',
                    to_jsonb(id)
                from done""")
            assert await asyncio.gather(*waits) == [job.id for job in jobs]

    asyncio.run(body())


def test_a_timeout_ends_a_wait_alone(errand: Errand, db: psycopg.Connection) -> None:
    job = errand.enqueue("nobody_has_it", follow=True)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        job.result(timeout=0.2)
    assert time.monotonic() - began < 10
    assert job.cancel("not needed")
    with pytest.raises(JobFailed, match="cancelled"):
        job.result(timeout=20)
    assert not job.cancel("again")


def test_of_another_login_nothing_is_seen(errand: Errand, other: str, db: psycopg.Connection) -> None:
    job = errand.enqueue("mine", follow=True)
    with Errand(other) as stranger:
        assert stranger.job(job.id) is None
        assert stranger.cancel([job.id], "I am nobody") == 0
        with pytest.raises(NotFound):
            stranger.wait(job.id, timeout=20)
    assert errand.job(job.id) is not None


def test_it_says_why_a_job_is_not_running(errand: Errand, other: str, db: psycopg.Connection) -> None:
    job = errand.enqueue("unheard_of", queue="py_unheard", follow=True)
    [reason] = job.explain()
    assert reason.code == "no_worker" and reason.hint is not None, reason
    with Errand(other) as stranger:
        assert [reason.code for reason in stranger.explain(job.id)] == ["unknown"]

    async def body() -> None:
        async with AsyncErrand(other) as stranger:
            assert [reason.code for reason in await stranger.explain(job.id)] == ["unknown"]

    asyncio.run(body())


def test_schedules_of_ones_own(errand: Errand, other: str, db: psycopg.Connection) -> None:
    assert errand.put_schedule("report", "0 6 * * *", "report", {"a": 1}, time_zone="Europe/Paris") == "created"
    assert errand.put_schedule("report", "0 6 * * *", "report", {"a": 1}, time_zone="Europe/Paris") == "unchanged"
    [schedule] = errand.schedules()
    assert (schedule.name, schedule.cron, schedule.time_zone, schedule.kind) == (
        "report", "0 6 * * *", "Europe/Paris", "report")
    assert errand.put_schedule("report", "0 6 * * *", "report", time_zone="Europe/Paris", missed="skip") == "changed"
    assert errand.put_schedule(
        "report", "0 6 * * *", "report", time_zone="Europe/Paris", missed="skip", overlap="replace", tags=["daily"],
        priority=3, jitter=timedelta(minutes=5), ends_at=datetime(2100, 1, 1, tzinfo=UTC)) == "changed"
    with pytest.raises(Invalid, match="overlap: expected allow, skip or replace, got 'queue'"):
        errand.put_schedule("report", "0 6 * * *", "report", overlap="queue")
    errand.pause_schedule("report", "a holiday")
    assert errand.schedules()[0].paused_reason == "a holiday"
    errand.resume_schedule("report")
    with Errand(other) as stranger:
        assert stranger.schedules() == []
        with pytest.raises(NotFound):
            stranger.drop_schedule("report")
    errand.drop_schedule("report")
    assert errand.schedules() == []
