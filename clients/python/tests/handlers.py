"""A worker for tests in processes of their own."""

import contextlib
import dataclasses
import os
import random
import signal
import time
from typing import Any

import psycopg
from errand import ChunkJob, Context, Failure, Middleware, Permanent, RetryAfter, Snooze, Stop, Wait, Worker

worker = Worker(concurrency=4, poll=0.2, lease=float(os.environ.get("LEASE", "60")), grace=20)


@dataclasses.dataclass
class Note:
    text: str
    times: int = 1


@worker.job("note", queue="py", max_attempts=3, retry=[0.01], deadline=30)
def note(payload: Note, context: Context) -> dict[str, Any]:
    """Writes a note, and completes the job in the same transaction."""
    with context.transaction({"notes": payload.times}) as connection:
        for _ in range(payload.times):
            connection.execute("insert into note values (%s)", [payload.text])
        if payload.text == "refused":
            raise ValueError("after its effect")
    return {"ignored": True}


@worker.job("complete", queue="py", max_attempts=1, deadline=30)
def complete(payload: str, context: Context) -> str:
    """Completes the job in a transaction of its own."""
    import sqlalchemy  # not for the other handlers: their processes start sooner
    from sqlalchemy.orm import Session

    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(context.conninfo))
    with contextlib.suppress(KeyError), Session(engine) as session, session.begin():
        session.execute(sqlalchemy.text("insert into note values (:text)"), {"text": payload})
        context.complete(session, {"in": "the transaction"})
        if payload == "rolled back":
            raise KeyError
        if payload == "raises within":
            raise ValueError("within")
    engine.dispose()
    if payload == "raises after":
        raise ValueError("after")
    return "returned"


@worker.job("complete_async", queue="py", max_attempts=1, deadline=30)
async def complete_async(payload: str, context: Context) -> None:
    async with await psycopg.AsyncConnection.connect(context.conninfo) as connection:
        await connection.execute("insert into note values (%s)", [payload])
        await context.async_complete(connection, payload)


@worker.job("sleep", queue="py", max_attempts=3, retry=[0.01], deadline=30)
def sleep(payload: dict[str, Any], context: Context) -> str:
    """Sleeps so long, unless it is stopped."""
    until = time.monotonic() + payload["seconds"]
    while time.monotonic() < until:
        context.check()
        time.sleep(0.01)
    return "slept"


@worker.job("behave", queue="py", max_attempts=2, retry=[0.01], deadline=0.5)
def behave(payload: dict[str, Any], context: Context) -> Any:
    match payload["how"]:
        case "return":
            return payload["value"]
        case "big":
            return "x" * 300_000
        case "fail":
            raise ValueError("no\0 way")
        case "fail once":
            if context.attempt == 1:
                raise ValueError("not yet")
            return context.attempt
        case "permanent":
            raise Permanent("it never will")
        case "snooze":
            raise Snooze(3600)
        case "retry after":
            raise RetryAfter(1800, "the service asks for half an hour")
        case "hang":
            time.sleep(3)
        case "exit":
            raise SystemExit(3)
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "report":
            context.report(0.5, "half of it")
            context.report(message="more than half")
            time.sleep(0.3)
            return os.getpid()
        case "unfit":
            return object()
        case how:
            raise Permanent(f"unknown: {how}")


@worker.job("add", queue="py", deadline=10)
def add(payload: int, context: Context) -> int:
    """Adds what its parents have returned."""
    return payload + sum(parent.output for parent in context.parents())


@worker.job("add_async", queue="py", deadline=10)
async def add_async(payload: int, context: Context) -> int:
    return payload + sum(parent.output for parent in await context.async_parents())


@worker.job("approve", queue="py", deadline=10)
def approve(payload: dict[str, Any], context: Context) -> Any:
    """Waits for an approval."""
    if context.signal is None:
        raise Wait(payload["for"], payload.get("timeout", 60), payload.get("by"))
    return {"has_come": context.signal.has_come, "payload": context.signal.payload, "attempt": context.attempt}


@worker.job("wait", queue="py", max_attempts=2, retry=[0.01], deadline=1)
async def wait(payload: dict[str, Any], context: Context) -> str:
    import asyncio

    if payload.get("tx"):
        async with context.async_transaction() as connection:
            await connection.execute("insert into note values ('async')")
    await asyncio.sleep(payload["seconds"])
    return "waited"


def write(context: Context, statement: str, *values: Any) -> None:
    """An effect that is committed by itself."""
    with psycopg.connect(context.conninfo, autocommit=True) as connection:
        connection.execute(statement, values)


@worker.job("ship", queue="py", max_attempts=4, retry=[0.01], deadline=30)
def ship(payload: dict[str, Any], context: Context) -> Any:
    """Several steps, in attempts that fail, but for the last one."""
    def book() -> dict[str, Any]:
        write(context, "insert into note values ('booked')")
        return {"in": context.attempt, "text": "é"}

    def charge(connection: psycopg.Connection) -> str:
        connection.execute("insert into note values ('charged')")
        if context.attempt == 1:
            raise ValueError("after its effect")
        return "charged"

    booked = context.step("book", book)
    charged = context.step_transaction("charge", charge)
    nothing = context.step("nothing", lambda: None)
    if context.attempt < payload["attempts"]:
        raise ValueError("not yet")
    return [booked, charged, nothing, context.step("book", dict), context.attempt]


@worker.job("ship_async", queue="py", max_attempts=4, retry=[0.01], deadline=30)
async def ship_async(payload: dict[str, Any], context: Context) -> Any:
    async def book() -> dict[str, Any]:
        write(context, "insert into note values ('booked')")
        return {"in": context.attempt, "text": "é"}

    async def charge(connection: psycopg.AsyncConnection) -> str:
        await connection.execute("insert into note values ('charged')")
        if context.attempt == 1:
            raise ValueError("after its effect")
        return "charged"

    async def nothing() -> None: ...

    booked = await context.async_step("book", book)
    charged = await context.async_step_transaction("charge", charge)
    none = await context.async_step("nothing", nothing)
    if context.attempt < payload["attempts"]:
        raise ValueError("not yet")
    return [booked, charged, none, await context.async_step("book", book), context.attempt]


@worker.job("five_steps", queue="py", max_attempts=1000, retry=[0.01], deadline=60)
def five_steps(payload: None, context: Context) -> None:
    """Five steps, between which an attempt may end by chance."""
    for number in range(5):
        name = f"step {number}"

        def effect(number: int = number, name: str = name) -> int:
            write(context, "insert into ran values (%s, %s)", context.id, name)
            return number

        if context.step(name, effect) != number:
            raise Permanent(f"expected {number}")
        match random.randrange(40):
            case 0:
                raise Snooze(0)
            case 1:
                raise RetryAfter(0, "by chance")
            case 2:
                raise Stop("by chance")


@worker.job("fails", queue="py", max_attempts=1)
def fails(payload: Note, context: Context) -> None:
    if payload.text == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    raise Permanent(f"no {payload.text}")


@worker.failed(fails)
def told(failure: Failure, context: Context) -> None:
    text = f"{failure.id} {failure.attempts} {failure.payload.text} {failure.error}"
    write(context, "insert into note values (%s)", text)
    raise Permanent("told is not told")


class Wrapping(Middleware):
    def encode(self, kind: str, payload: Any) -> Any:
        return {"in": payload}

    def decode(self, kind: str, payload: Any) -> Any:
        return payload["in"]


wrapped = Worker(middleware=[Wrapping()])


@wrapped.job("echo_wrapped", queue="py")
def echo_wrapped(payload: Any) -> Any:
    return payload


chunked = Worker(concurrency=2, poll=0.2, grace=20)


@chunked.chunk(
    "mixed", size=20, within=0.2, by=lambda payload: payload.get("all"), queue="py", max_attempts=2, retry=[600],
    deadline=1)
def mixed(jobs: list[ChunkJob[Any]]) -> Any:
    """Behaves as the first payload says for all jobs, or as each one says."""
    match jobs[0].payload.get("all"):
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(20)
        case "raise":
            raise KeyError("all of them")
        case "few":
            return [None]
        case "odd":
            return {"no": "list"}
        case "none":
            jobs.clear()
            return None
    return [outcome(job) for job in jobs]


def outcome(job: ChunkJob[Any]) -> Any:
    match job.payload["how"]:
        case "output":
            return [job.payload["how"], job.context.attempt]
        case "error":
            return ValueError("this one")
        case "permanent":
            return Permanent("never")
        case "snooze":
            return Snooze(3600)
        case "later":
            return RetryAfter(1800, "later")
        case "wait":
            return Wait("word", 3600)
        case "unfit":
            return object()
        case "transaction":
            with job.context.transaction("committed") as connection:
                connection.execute("insert into note values ('in a chunk')")
            return ValueError("after it")
        case "step":
            return job.context.step("once", lambda: "stepped")
