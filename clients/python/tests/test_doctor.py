"""Whether payloads that are there fit the handlers of a new version."""

import base64
import dataclasses
import sys
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from errand import Errand, PayloadEncryption, PayloadKeys, Worker
from errand.__main__ import main
from errand.doctor import problem, read_payloads


TYPES: dict[str, Any] = {
    name: dataclasses.make_dataclass(name, fields)
    for name, fields in {
        "Order": [("order", str)], "Number": [("order", int)], "Amount": [("amount", float)],
        "Paid": [("paid", bool)], "Tags": [("tags", list[str])], "Prices": [("prices", dict[str, int])],
        "Maybe": [("order", str | None)], "Note": [("order", str), ("note", str, "")],
        "Color": [("color", Literal["red", "green"])], "Whole": [("rows", list[dict[str, int]])],
        "Two": [("first", int), ("second", int)], "Any": [("what", Any)], "Free": [("tags", list)],
        "Empty": [],
    }.items()
}


@dataclasses.dataclass
class Moved:
    """Its older form has the size as text."""

    size: int

    @classmethod
    def from_payload(cls, payload: Any) -> "Moved":
        return cls(int(payload["size"]))


TYPES["Moved"] = Moved
TYPES["Parent"] = dataclasses.make_dataclass("Parent", [("child", Moved)])

BREAKING = [
    ("Order", {"id": "canary"}, "id: expected no such field"),
    ("Order", {}, "order: expected a value, got none"),
    ("Order", {"order": 17}, "order: expected str, got another type"),
    ("Order", {"order": None}, "order: expected str, got another type"),
    ("Order", ["canary"], "payload: expected Order, got another type"),
    ("Order", {"order": "canary", "more": 1}, "more: expected no such field"),
    ("Number", {"order": "17"}, "order: expected int, got another type"),
    ("Number", {"order": 1.5}, "order: expected int, got another type"),
    ("Number", {"order": True}, "order: expected int, got another type"),
    ("Amount", {"amount": "canary"}, "amount: expected float, got another type"),
    ("Paid", {"paid": 1}, "paid: expected bool, got another type"),
    ("Tags", {"tags": "canary"}, "tags: expected list[str], got another type"),
    ("Tags", {"tags": ["a", None]}, "tags[1]: expected str, got another type"),
    ("Prices", {"prices": {"canary": "x"}}, "prices.*: expected int, got another type"),
    ("Maybe", {"order": 17}, "order: expected str | None, got another type"),
    ("Color", {"color": "canary"}, "color: expected Literal['red', 'green'], got another value"),
    ("Whole", {"rows": [{"a": 1}, {"a": "canary"}]}, "rows[1].*: expected int, got another type"),
    ("Two", {"first": 1}, "second: expected a value, got none"),
    ("Moved", {"size": "canary"}, "payload: ValueError"),
    ("Parent", {"child": {"size": "canary"}}, "child.size: expected int, got another type"),
]
FITTING = [
    ("Order", {"order": "x"}), ("Number", {"order": 17}), ("Amount", {"amount": 1}), ("Amount", {"amount": 1.5}),
    ("Paid", {"paid": False}), ("Tags", {"tags": []}), ("Tags", {"tags": ["a"]}), ("Prices", {"prices": {}}),
    ("Prices", {"prices": {"a": 1}}), ("Maybe", {"order": None}), ("Maybe", {"order": "x"}),
    ("Note", {"order": "x"}), ("Note", {"order": "x", "note": "y"}), ("Color", {"color": "red"}),
    ("Whole", {"rows": [{"a": 1}]}), ("Any", {"what": [1, None]}), ("Free", {"tags": [1, "a"]}),
    ("Empty", {}), ("Moved", {"size": "17"}), ("Parent", {"child": {"size": 1, "more": 2}}),
]


def handler(worker: Worker, kind: str, type_: Any) -> Any:
    def run(payload: Any) -> None: ...

    run.__annotations__["payload"] = type_
    return worker.job(kind)(run)


def test_20_changes_that_break_are_found_and_20_that_do_not_are_not() -> None:
    assert len(BREAKING) == len(FITTING) == 20
    for number, (name, payload, expected) in enumerate(BREAKING):
        assert problem(handler(Worker(), f"b{number}", TYPES[name]), payload) == expected
    for number, (name, payload) in enumerate(FITTING):
        tested = handler(Worker(), f"f{number}", TYPES[name])
        assert problem(tested, payload) is None
        tested.decoded(payload)


MODULE = """
import dataclasses
from errand import Failure, Worker

worker = Worker()

@dataclasses.dataclass
class Order:
    order: str

@worker.job("order")
def order(payload: Order): ...

@worker.failed(order)
def told(failure: Failure): ...
"""


def test_the_command_names_what_does_not_fit_and_ends_with_1(
    owner: str, app: str, db: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "doctor_sample.py").write_text(MODULE)
    with Errand(owner) as errand:
        errand.enqueue("order", {"order": "x"})
        errand.enqueue("other", {"order": 1})
        assert main(["doctor", "doctor_sample", "--conninfo", owner]) == 0
        assert capsys.readouterr().out == "1 payloads read, 0 don't fit\n"
        old = [errand.enqueue("order", {"id": n, "text": "canary" * 20_000}, delay=n * 60).id for n in range(250)]
        errand.enqueue("order.failed", {"job_id": 1, "kind": "order", "attempt": 1, "error": "x", "payload": {"id": 1}})
    db.execute("update errand.job set state = 'parked', parked_for = 'x' where id = %s", [old[3]])
    assert main(["doctor", "doctor_sample:worker", "--conninfo", owner]) == 1
    said = capsys.readouterr().out
    assert f"order: 250 of " in said and f"such as job {old[0]}: id: expected no such field" in said
    assert "order.failed: 1 of " in said and said.endswith("252 payloads read, 251 don't fit\n")
    assert "canary" not in said
    assert main(["doctor", "doctor_sample", "--conninfo", app]) == 78
    assert capsys.readouterr().err.count("\n") == 1
    del sys.modules["doctor_sample"]


def test_encrypted_payloads_are_decrypted(owner: str, db: psycopg.Connection) -> None:
    encryption = PayloadEncryption(PayloadKeys("k1=" + base64.b64encode(bytes(32)).decode()))
    worker = Worker(middleware=[encryption])
    handler(worker, "order", TYPES["Order"])
    with Errand(owner, middleware=[encryption]) as errand:
        errand.enqueue("order", {"order": "x"})
        errand.enqueue("order", {"id": "canary"})
    read, [found] = read_payloads(owner, worker.handlers)
    assert (read, found.jobs, found.reason) == (2, 1, "id: expected no such field")
    other = Worker()
    handler(other, "order", TYPES["Order"])
    assert "expected a worker with its keys" in read_payloads(owner, other.handlers)[1][0].reason
