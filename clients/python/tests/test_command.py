"""python -m errand worker, and what keeps a worker from its start."""

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import becomes, login
from errand import Errand, Worker
from errand.__main__ import main

MODULES = {
    "two": "from errand import Worker\na = Worker()\nb = Worker()\n",
    "none": "worker = 1\n",
    "empty": "from errand import Worker\nworker = Worker()\n",
    "fails": "raise RuntimeError('at import')\n",
    "misses": "import no_such_module\n",
    "good": "from errand import Worker\nworker = same = Worker()\n@worker.job('good')\ndef good(payload): ...\n",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    package = tmp_path / "sample"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, text in MODULES.items():
        (package / f"{name}.py").write_text(text)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "sample"]:
        del sys.modules[name]


@pytest.mark.parametrize(("arguments", "code", "why"), [
    ("sample.two", 78, "sample.two: expected one Worker, got a, b: name it as MODULE:NAME"),
    ("sample.two:c", 78, "sample.two: expected a Worker of the name c, got a, b"),
    ("sample.two:a", 78, "expected a handler at least, got none"),
    ("sample.none", 78, "expected one Worker, got none"),
    ("sample.empty", 78, "expected a handler at least, got none"),
    ("sample.absent", 78, "No module named 'sample.absent'; searched from"),
    ("sample/two.py", 64, "expected the name of a module, such as sample.two"),
    ("sample.good --concurrency 0", 78, "concurrency: expected at least 1, got 0"),
    ("sample.good --conninfo postgresql+psycopg:///x", 78, "in connection info string"),
])
def test_a_refused_start_is_one_line(
    arguments: str, code: int, why: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", *arguments.split()]) == code
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1


def test_a_command_that_is_none_ends_with_64(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["worker"], ["worker", "app.jobs", "--log", "LOUD"], ["walk"]):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 64
        assert capsys.readouterr().err.startswith("usage: ")


def test_what_a_module_raises_is_seen_whole(here: Path) -> None:
    with pytest.raises(RuntimeError, match="at import"):
        main(["worker", "sample.fails"])
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        main(["worker", "sample.misses"])


def test_it_says_which_rights_or_schema_it_lacks(
    here: Path, owner: str, app: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", "sample.good", "--conninfo", app]) == 78
    assert "needs the role errand_worker" in capsys.readouterr().err
    assert main(["worker", "sample.good", "--conninfo", psycopg.conninfo.make_conninfo(owner, dbname="postgres")]) == 78
    assert "run errand migrate" in capsys.readouterr().err


def test_a_taken_port_is_named(here: Path, worker_login: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["worker", "sample.good", "--conninfo", worker_login, "--port", str(port)]) == 78
    assert f"port {port} of 127.0.0.1: Address already in use" in capsys.readouterr().err


def test_it_waits_for_its_database(
    owner: str, errand: Errand, db: psycopg.Connection, running: Any, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(poll=0.1)

    @worker.job("late")
    def late(payload: Any) -> str:
        return "ran"

    db.execute("create role python_late in role errand_worker")
    try:
        with running(worker, login(owner, "python_late")):
            job = errand.enqueue(late, follow=True)
            becomes(lambda: "waiting for the database" in caplog.text)
            db.execute("alter role python_late login")
            assert job.result(30) == "ran"
    finally:
        db.execute("drop role python_late")
    thread = threading.Thread(target=worker.run, args=("host=127.0.0.1 port=1",))
    thread.start()
    worker.stop()
    thread.join(30)
    assert not thread.is_alive()


def test_options_out_of_bounds() -> None:
    def refused(kind: type[Exception], why: str, **options: Any) -> None:
        worker = Worker(**options)
        worker.job("bounds")(lambda payload: None)
        with pytest.raises(kind, match=why):
            worker.run()

    refused(TypeError, "queues: expected a list of names, got 'mail'", queues="mail")
    refused(ValueError, "mode: expected threads or processes, got 'fibers'", mode="fibers")
    refused(ValueError, "lease: expected 1 to 3600 s, got 0", lease=0)
    refused(ValueError, "poll: expected more than 0 s, got 0", poll=0)
    refused(ValueError, "grace: expected at least 0 s, got -1", grace=-1)
    with pytest.raises(TypeError, match='expected a kind, as in @worker.job'):
        Worker().job(print)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="retry: expected a list of delays, got 60"):
        Worker().job("bounds", retry=60)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="deadline: expected more than 0, got 0"):
        Worker().job("bounds", deadline=0)


def test_types_that_only_checkers_know_are_no_matter_but_the_payloads() -> None:
    def returns(payload: "dict[str, int]", context: "Unknown") -> "Unknown": ...  # type: ignore[name-defined] # noqa

    def takes(payload: "Unknown") -> None: ...  # type: ignore[name-defined] # noqa

    Worker().job("returns")(returns)
    with pytest.raises(TypeError, match="takes: the type of the payload is unknown .*'Unknown' is not defined"):
        Worker().job("takes")(takes)
