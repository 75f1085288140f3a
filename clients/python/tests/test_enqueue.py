"""Enqueues in the transaction of each kind of connection."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import asyncpg
import psycopg
import pytest
import sqlalchemy
from errand import AsyncErrand, Conflict, Errand, Invalid, NotFound, Request, TooLarge, Worker
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session


def kinds(db: psycopg.Connection) -> list[str]:
    return [kind for (kind,) in db.execute("select kind from errand.job order by id")]


def sqlalchemy_url(conninfo: str, driver: str) -> sqlalchemy.URL:
    given = conninfo_to_dict(conninfo)
    return sqlalchemy.URL.create(
        f"postgresql+{driver}", username=given["user"], database=given["dbname"],
        query={"host": given["host"], "port": given["port"]} if driver != "asyncpg" else {},
    )


def asyncpg_arguments(conninfo: str) -> dict[str, Any]:
    given = conninfo_to_dict(conninfo)
    return {"user": given["user"], "database": given["dbname"], "host": given["host"], "port": int(given["port"])}


Enqueue = Callable[[Any], Any]


def in_psycopg(app: str, enqueue: Enqueue, commits: bool) -> None:
    with psycopg.connect(app, row_factory=dict_row) as connection:
        enqueue(connection)
        connection.commit() if commits else connection.rollback()


def in_sqlalchemy(app: str, enqueue: Enqueue, commits: bool) -> None:
    engine = sqlalchemy.create_engine(sqlalchemy_url(app, "psycopg"))
    with engine.connect() as connection:
        enqueue(connection)
        connection.commit() if commits else connection.rollback()
    engine.dispose()


def in_a_session(app: str, enqueue: Enqueue, commits: bool) -> None:
    engine = sqlalchemy.create_engine(sqlalchemy_url(app, "psycopg"))
    with Session(engine) as session:
        enqueue(session)
        session.commit() if commits else session.rollback()
    engine.dispose()


def in_django(app: str, enqueue: Enqueue, commits: bool) -> None:
    import django
    from django.conf import settings
    from django.db import connections, transaction

    given = conninfo_to_dict(app)
    if not settings.configured:
        settings.configure(DATABASES={"default": {
            "ENGINE": "django.db.backends.postgresql", "NAME": given["dbname"], "USER": given["user"],
            "HOST": given["host"], "PORT": given["port"],
        }})
        django.setup()
    connection = connections["default"]
    try:
        with transaction.atomic():
            enqueue(connection)
            if not commits:
                transaction.set_rollback(True)
    finally:
        connection.close()


@pytest.mark.parametrize("inside", [in_psycopg, in_sqlalchemy, in_a_session, in_django])
def test_a_job_is_part_of_the_transaction(inside: Any, errand: Errand, app: str, db: psycopg.Connection) -> None:
    inside(app, lambda connection: errand.enqueue("rolled_back", {"n": 1}, connection=connection), False)
    assert kinds(db) == []
    inside(app, lambda connection: errand.enqueue("committed", {"n": [1, "a%:b"]}, connection=connection), True)
    assert kinds(db) == ["committed"]
    assert db.execute("select payload from errand.job").fetchone() == ({"n": [1, "a%:b"]},)
    with pytest.raises(Invalid, match="priority: expected 1 .* to 4"):
        inside(app, lambda connection: errand.enqueue("refused", priority=9, connection=connection), True)


AsyncEnqueue = Callable[[Any], Awaitable[Any]]


async def in_async_psycopg(app: str, enqueue: AsyncEnqueue, commits: bool) -> None:
    async with await psycopg.AsyncConnection.connect(app) as connection:
        await enqueue(connection)
        await (connection.commit() if commits else connection.rollback())


async def in_asyncpg(app: str, enqueue: AsyncEnqueue, commits: bool) -> None:
    connection = await asyncpg.connect(**asyncpg_arguments(app))
    # As many applications do: it must not encode twice.
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    transaction = connection.transaction()
    await transaction.start()
    await enqueue(connection)
    await (transaction.commit() if commits else transaction.rollback())
    await connection.close()


async def in_an_asyncpg_pool(app: str, enqueue: AsyncEnqueue, commits: bool) -> None:
    async with asyncpg.create_pool(**asyncpg_arguments(app), min_size=1) as pool, pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await enqueue(connection)
        await (transaction.commit() if commits else transaction.rollback())


async def in_async_sqlalchemy(app: str, enqueue: AsyncEnqueue, commits: bool) -> None:
    engine = create_async_engine(sqlalchemy_url(app, "psycopg"))
    async with engine.connect() as connection:
        await enqueue(connection)
        await (connection.commit() if commits else connection.rollback())
    await engine.dispose()


async def in_an_async_session(app: str, enqueue: AsyncEnqueue, commits: bool) -> None:
    engine = create_async_engine(sqlalchemy_url(app, "asyncpg"), connect_args=asyncpg_arguments(app))
    async with AsyncSession(engine) as session:
        await enqueue(session)
        await (session.commit() if commits else session.rollback())
    await engine.dispose()


@pytest.mark.parametrize(
    "inside", [in_async_psycopg, in_asyncpg, in_an_asyncpg_pool, in_async_sqlalchemy, in_an_async_session]
)
def test_an_async_job_is_part_of_the_transaction(inside: Any, app: str, db: psycopg.Connection) -> None:
    async def body() -> None:
        async with AsyncErrand(app) as errand:
            await inside(app, lambda connection: errand.enqueue("rolled_back", connection=connection), False)
            assert kinds(db) == []
            await inside(
                app, lambda connection: errand.enqueue("kept", {"n": [1]}, tags=["a"], connection=connection), True)
            assert db.execute("select kind, payload, tags from errand.job").fetchall() == [("kept", {"n": [1]}, ["a"])]
            many = [Request("one"), Request("two", {"x": 1}, priority=1, run_at=datetime.now(timezone.utc))]
            await inside(app, lambda connection: errand.enqueue_many(many, connection=connection), True)
            assert kinds(db) == ["kept", "one", "two"]
            with pytest.raises(Invalid, match="max_attempts"):
                await inside(
                    app, lambda connection: errand.enqueue("bad", max_attempts=0, connection=connection), True)

    asyncio.run(body())


def test_options_reach_the_job(errand: Errand, db: psycopg.Connection) -> None:
    run_at = datetime(2030, 1, 2, 3, 4, tzinfo=timezone.utc)
    job = errand.enqueue(
        "mail", {"to": "é"}, queue="post", run_at=run_at, priority=1, max_attempts=3, unique_key="mail/1",
        not_after=run_at + timedelta(hours=1), tags=["a", "b"], subject="user/1", limit_key="tenant/1",
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", follow=True)
    assert job.inserted and job.state == "scheduled"
    found = db.execute(
        "select queue, run_at, priority, max_attempts, unique_key, not_after, tags, subject, limit_key, options, payload "
        "from errand.job").fetchone()
    assert found == (
        "post", run_at, 1, 3, "mail/1", run_at + timedelta(hours=1), ["a", "b"], "user/1", "tenant/1",
        {"owner": "python_app", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, {"to": "é"})
    again = errand.enqueue("mail", unique_key="mail/1")
    assert (again.id, again.inserted) == (job.id, False)
    soon = errand.enqueue("mail", unique_key="mail/1", on_conflict="reschedule", delay=60)
    assert soon.id == job.id
    [(left,)] = db.execute("select extract(epoch from run_at - now())::float8 from errand.job").fetchall()
    assert 0 < left <= 60


def test_keys_last_as_long_as_asked(errand: Errand, db: psycopg.Connection) -> None:
    first = errand.enqueue("mail", unique_key="welcome/1", unique_for=timedelta(days=1))
    [again, elsewhere] = errand.enqueue_many([
        Request("mail", unique_key="welcome/1", unique_for=3600), Request("mail", unique_key="welcome/2", unique_for=60)])
    assert (again.id, again.inserted, elsewhere.inserted) == (first.id, False, True)
    for element in (1, 2):
        errand.enqueue("index", [element], unique_key="index", on_conflict="merge")
    errand.enqueue("sync", unique_key="sync", unique_while="waiting")
    errand.enqueue("save", unique_key="save", on_conflict="reschedule", delay=60, no_later_than=30)
    assert db.execute("select payload, waiting_key from errand.job where kind in ('index', 'sync') order by id").fetchall() == [
        ([1, 2], "index"), ({}, "sync")]
    [(left,)] = db.execute(
        "select extract(epoch from run_at - created_at)::float8 from errand.job where kind = 'save'").fetchall()
    assert left == 30


def test_errors_have_types(errand: Errand, db: psycopg.Connection) -> None:
    with pytest.raises(TooLarge):
        errand.enqueue("big", "x" * 300_000)
    with pytest.raises(NotFound):
        errand.enqueue("guarded", guard="no_such_guard")
    errand.enqueue("keyed", unique_key="k")
    with pytest.raises(Conflict):
        errand.enqueue("keyed", unique_key="k", on_conflict="error")
    with pytest.raises(TypeError, match="expected a value of JSON"):
        errand.enqueue("bad", {"x": object()})
    with pytest.raises(TypeError, match="expected a value of JSON"):
        errand.enqueue("bad", {"x": float("nan")})
    with pytest.raises(TypeError, match="payload: .*: UUID is not JSON"):
        errand.enqueue("bad", {"x": uuid4()})
    with pytest.raises(TypeError, match="expected options of queue, .*, got attempts"):
        errand.enqueue("bad", attempts=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="expected a list of words, got 'abc'"):
        errand.enqueue("bad", tags="abc")
    with pytest.raises(TypeError, match="a function that Worker.job has made a handler"):
        errand.enqueue(kinds)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an id or a unique_key"):
        errand.job()
    with pytest.raises(ValueError, match="time zone"):
        errand.enqueue("bad", run_at=datetime(2030, 1, 1))
    with pytest.raises(Invalid, match=r"jobs\[2\]"):
        errand.enqueue_many([Request("fine"), Request("Not a kind")])
    assert kinds(db) == ["keyed"]


def test_payloads_of_all_kinds(errand: Errand, db: psycopg.Connection) -> None:
    @dataclass
    class Line:
        text: str
        of: list[Any]

    for payload, stored in [
        ([1, "a"], [1, "a"]), ("é 日本", "é 日本"), (None, {}), (0, 0), (Line("a", [Line("b", [])]), {
            "text": "a", "of": [{"text": "b", "of": []}]}),
    ]:
        job = errand.enqueue("payloads", payload)
        assert db.execute("select payload from errand.job where id = %s", [job.id]).fetchone() == (stored,)


def test_other_connections_are_refused_with_their_name(errand: Errand, app: str, db: psycopg.Connection) -> None:
    def refused(client: Any, connection: Any, why: str) -> None:
        with pytest.raises(TypeError, match=why):
            enqueued = client.enqueue("refused", connection=connection)
            if isinstance(client, AsyncErrand):
                asyncio.run(enqueued)

    engine = sqlalchemy.create_engine(sqlalchemy_url(app, "psycopg"))
    async_engine = create_async_engine(sqlalchemy_url(app, "psycopg"))
    refused(errand, engine, "expected one of psycopg, SQLAlchemy or Django, got sqlalchemy.*Engine$")
    refused(errand, app, "got builtins.str$")
    refused(errand, AsyncSession(async_engine), "AsyncSession: pass it to AsyncErrand$")
    refused(AsyncErrand(app), Session(engine), "async SQLAlchemy, got sqlalchemy.*Session: pass it to Errand$")
    with psycopg.connect(app) as connection:
        refused(errand, connection.cursor(), r"got psycopg.*Cursor$")
        refused(AsyncErrand(app), connection, r"got psycopg.*Connection: pass it to Errand$")

    async def body() -> None:
        connection = await asyncpg.connect(**asyncpg_arguments(app))
        refused(errand, connection, "got asyncpg.*Connection: pass it to AsyncErrand$")
        await connection.close()

    asyncio.run(body())
    assert kinds(db) == []


def test_after_an_error_the_transaction_says_so(errand: Errand, app: str, db: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.InFailedSqlTransaction), psycopg.connect(app) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("select 1 / 0")
        errand.enqueue("lost", connection=connection)
    with psycopg.connect(app) as connection:
        with pytest.raises(KeyError), connection.transaction():
            errand.enqueue("lost", connection=connection)
            raise KeyError
        with pytest.raises(Invalid), connection.transaction():
            errand.enqueue("Lost", connection=connection)
        errand.enqueue("kept", connection=connection)
    assert kinds(db) == ["kept"]


def test_savepoints_of_django_and_asyncpg(errand: Errand, app: str, db: psycopg.Connection) -> None:
    from django.db import transaction

    def twice(connection: Any) -> None:
        with pytest.raises(KeyError), transaction.atomic():
            errand.enqueue("lost", connection=connection)
            raise KeyError
        errand.enqueue("django", connection=connection)

    in_django(app, twice, commits=True)

    async def body() -> None:
        connection = await asyncpg.connect(**asyncpg_arguments(app))
        async with AsyncErrand(app) as client, connection.transaction():
            with pytest.raises(KeyError):
                async with connection.transaction():
                    await client.enqueue("lost", connection=connection)
                    raise KeyError
            await client.enqueue("asyncpg", connection=connection)
        await connection.close()

    asyncio.run(body())
    assert kinds(db) == ["django", "asyncpg"]


def test_policies_hold_before_a_worker_was_there(errand: Errand, db: psycopg.Connection) -> None:
    worker = Worker()

    @worker.job("fresh_kind", queue="post", max_attempts=2)
    def fresh(payload: Any) -> None: ...

    errand.enqueue(fresh)
    errand.enqueue_many([Request(fresh), Request(fresh, queue="other")])
    rows = db.execute("select queue, max_attempts from errand.job order by id").fetchall()
    assert rows == [("post", 2), ("post", 2), ("other", 2)]
