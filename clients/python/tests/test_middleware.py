"""Middleware around handlers, and encrypted payloads, which the program `errand` reads and writes too."""

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import login
from errand import (AsyncErrand, Context, Errand, Failure, Middleware, PayloadEncryption, PayloadKeys, Permanent,
                    Request, Snooze, Worker)
from errand.testing import TestQueue


def key(byte: int) -> str:
    return base64.b64encode(bytes([byte]) * 32).decode()


ONE, TWO = f"k1={key(1)}", f"k2={key(2)}"


def encryption(*keys: str, **options: Any) -> PayloadEncryption:
    return PayloadEncryption(PayloadKeys(",".join(keys)), **options)


class Named(Middleware):
    """Wraps payloads in a list of its name and them."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name = name
        self.seen = seen

    def run(self, context: Context, next: Callable[[], Any]) -> Any:
        self.seen.append(f"{self.name} begins {context.job.kind}")
        try:
            return next()
        finally:
            self.seen.append(f"{self.name} ends")

    async def async_run(self, context: Context, next: Callable[[], Any]) -> Any:
        self.seen.append(f"{self.name} awaits")
        return await next()

    def encode(self, kind: str, payload: Any) -> Any:
        return [self.name, payload]

    def decode(self, kind: str, payload: Any) -> Any:
        name, inner = payload
        assert name == self.name
        return inner


def test_the_outermost_begins_first_and_reads_first(owner: str, db: psycopg.Connection) -> None:
    seen: list[str] = []
    middleware = [Named("A", seen), Named("B", seen)]
    worker = Worker(middleware=middleware)

    @worker.job("bill", max_attempts=1)
    def bill(payload: Any) -> Any:
        seen.append(f"handler {payload}")
        raise Permanent("no")

    @worker.failed(bill)
    def told(failure: Failure) -> Any:
        return [failure.payload, failure.error]

    @worker.job("bill_async")
    async def bill_async(payload: Any) -> Any:
        return payload

    with Errand(owner, middleware=middleware) as errand:
        first, second = errand.enqueue_many([Request(bill, {"n": 1}), Request(bill_async, {"n": 2}, delay=0)])
        asyncio.run(enqueue_async(owner, middleware))
    stored = db.execute("select payload from errand.job order by id").fetchall()
    assert [payload for [payload] in stored] == [["A", ["B", {"n": number}]] for number in (1, 2, 3)]
    ran = {(one.job.kind, one.outcome, one.output) for one in TestQueue(owner, worker).drain()}
    assert ran == {("bill", "failed", None), ("bill.failed", "succeeded", '[{"n":1},"no"]'),
                   ("bill_async", "succeeded", '{"n":2}'), ("bill_async", "succeeded", '{"n":3}')}
    assert seen[seen.index("A begins bill"):][:5] == [
        "A begins bill", "B begins bill", "handler {'n': 1}", "B ends", "A ends"]
    assert seen.count("A awaits") == seen.count("B awaits") == 2


async def enqueue_async(owner: str, middleware: list[Middleware]) -> None:
    async with AsyncErrand(owner, middleware=middleware) as errand:
        await errand.enqueue("bill_async", {"n": 3})


def test_it_may_end_an_attempt_and_see_what_is_raised(owner: str, db: psycopg.Connection) -> None:
    class Changing(Middleware):
        def run(self, context: Context, next: Callable[[], Any]) -> Any:
            if context.job.payload == "skip":
                return "skipped"
            try:
                return next()
            except KeyError:
                raise Snooze(60) from None

    worker = Worker(middleware=[Changing()])

    @worker.job("change")
    def change(payload: Any) -> Any:
        raise KeyError(payload)

    with Errand(owner) as errand:
        errand.enqueue(change, "skip")
        errand.enqueue(change, "run")
    ran = TestQueue(owner, worker).drain()
    assert [(one.outcome, one.output) for one in ran] == [("succeeded", '"skipped"'), ("snoozed", None)]


def letters(*middleware: Middleware) -> Worker:
    worker = Worker(middleware=middleware)

    @worker.job("letter", max_attempts=1)
    def letter(payload: Any) -> Any:
        return payload

    return worker


def test_each_language_reads_what_the_other_wrote(owner: str, db: psycopg.Connection, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"{TWO}\n{ONE}\n")
    payload = {"text": "Grüße", "list": [1, 2.5, None, True]}
    environment = {**os.environ, "DATABASE_URL": owner, "ERRAND_PAYLOAD_KEYS": str(keys)}
    program = os.environ["ERRAND_BIN"] + "/errand"
    arguments = [program, "enqueue", "letter", json.dumps(payload), "--encrypt"]
    subprocess.run(arguments, env=environment, check=True, capture_output=True)
    [[stored]] = db.execute("select payload from errand.job").fetchall()
    assert sorted(stored) == ["$enc", "c", "kid", "n"] and stored["kid"] == "k2"
    [ran] = TestQueue(owner, letters(encryption(ONE, TWO))).drain()
    assert ran.outcome == "succeeded" and json.loads(ran.output or "") == payload


def test_no_row_has_the_text_of_a_payload(owner: str, db: psycopg.Connection) -> None:
    with Errand(owner, middleware=[encryption(ONE)]) as errand:
        errand.enqueue("letter", {"text": "password of Anna"})
        errand.enqueue_many([Request("letter", "password of Anna" * 8_000)])
        errand.put_schedule("letters", "0 3 * * *", "letter", {"text": "password of Anna"})
    for table in ("errand.job", "errand.schedule", "errand.payload"):
        [[text]] = db.execute(f"select coalesce(string_agg(t::text, ''), '') from {table} as t").fetchall()
        assert "password of Anna" not in text
    db.execute("delete from errand.schedule where name = 'letters'")
    # The new key writes, and the older one still reads.
    ran = TestQueue(owner, letters(encryption(TWO, ONE))).drain()
    assert [json.loads(one.output or "") for one in ran] == [{"text": "password of Anna"}, "password of Anna" * 8_000]


@pytest.mark.parametrize(("keys", "what", "expected"), [
    ("k1", "note", "can't be decrypted"), ("other k1", "letter", "can't be decrypted"),
    ("k2", "letter", "expected a key that this worker has, got 'k1'"), ("k1", "changed", "can't be decrypted"),
    ("k1", "form", 'expected {"$enc": 1'), ("k1", "plain", "expected an encrypted one"),
    ("none", "letter", "expected a worker with its keys"),
])
def test_what_cannot_be_read_is_a_permanent_error_without_content(
    keys: str, what: str, expected: str, owner: str, db: psycopg.Connection
) -> None:
    readers = {"k1": ONE, "k2": TWO, "other k1": f"k1={key(3)}"}
    reader = [encryption(readers[keys], reads_plain=False)] if keys in readers else []
    stored = encryption(ONE).encode("note" if what == "note" else "letter", {"text": "canary"})
    if what == "changed":
        stored["c"] = ("B" if stored["c"][0] == "A" else "A") + stored["c"][1:]
    if what == "form":
        stored = {"$enc": 2, "kid": "k1"}
    if what == "plain":
        stored = {"text": "canary"}
    with Errand(owner) as errand:
        errand.enqueue("letter", stored, max_attempts=5)
    [ran] = TestQueue(owner, letters(*reader)).drain()
    assert ran.outcome == "failed" and expected in (ran.error or "") and "canary" not in (ran.error or "")


@pytest.mark.parametrize("text", ["", "k1", "k1=", "k1=c2hvcnQ=", f"={key(1)}", f"{ONE},{ONE}", f"{ONE},{key(2)}"])
def test_keys_that_cannot_be_used_are_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match="expected id=key") as refused:
        PayloadKeys(text)
    assert key(1) not in str(refused.value)
    assert key(1) not in repr(PayloadKeys(ONE)) and "k1" in repr(PayloadKeys(ONE))


def test_a_handler_in_a_process_has_its_middleware(owner: str, db: psycopg.Connection, running: Any) -> None:
    from handlers import echo_wrapped, wrapped

    with Errand(login(owner, "python_app"), middleware=wrapped.middleware) as client, \
            running(Worker(handlers=wrapped.handlers, concurrency=1, poll=0.2, mode="processes")):
        assert client.enqueue(echo_wrapped, {"n": 1}, follow=True).result(30) == {"n": 1}
