"""Behind PgBouncer in transaction mode, where each transaction may run on another session."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from errand import AsyncErrand, Context, Errand, Worker
from psycopg.conninfo import conninfo_to_dict, make_conninfo

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def pooler(owner: str) -> Iterator[str]:
    """The conninfo of a pooler in front of the database."""
    environment = {**os.environ, "ERRAND_TEST_DATABASE_URL": os.environ["ERRAND_CLUSTER_URL"]}
    command = [ROOT / "scripts/pooler.sh", "sh", "-c", 'echo "$ERRAND_TEST_POOLER_URL"; cat > /dev/null']
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        url = running.stdout.readline().strip()
        assert url, "PgBouncer does not start"
        yield make_conninfo(url, dbname=conninfo_to_dict(owner)["dbname"])
        running.communicate()


def test_it_enqueues_runs_and_waits(pooler: str, db: psycopg.Connection, running: Any) -> None:
    worker = Worker(poll=0.1)

    @worker.job("pooled", queue="pooled")
    def pooled(payload: int, context: Context) -> None:
        with context.transaction({"n": payload}) as connection:
            connection.execute("insert into note values ('pooled')")

    with running(worker, pooler), Errand(pooler) as errand, psycopg.connect(pooler) as holds_a_session:
        holds_a_session.execute("select 1")
        jobs = [errand.enqueue(pooled, n, follow=True) for n in range(10)]
        assert [job.result(30) for job in jobs] == [{"n": n} for n in range(10)]
        holds_a_session.rollback()
        more = [errand.enqueue(pooled, n, follow=True) for n in range(10)]
        assert [job.result(30) for job in more] == [{"n": n} for n in range(10)]
        # No session that others get waits less for its commits.
        for _ in range(12):
            with psycopg.connect(pooler, prepare_threshold=None) as other:
                assert other.execute("show synchronous_commit").fetchone() == ("on",)
    assert db.execute("select count(*) from note").fetchone() == (20,)


def test_async_code_enqueues(pooler: str, db: psycopg.Connection) -> None:
    import asyncio

    async def body() -> None:
        async with AsyncErrand(pooler) as errand, AsyncErrand(pooler) as other:
            for _ in range(12):
                await asyncio.gather(errand.enqueue("pooled"), other.enqueue("pooled"))
                await asyncio.gather(errand.enqueue("pooled", priority=1), other.enqueue("pooled", tags=["a"]))

    asyncio.run(body())
    assert db.execute("select count(*) from errand.job").fetchone() == (48,)
