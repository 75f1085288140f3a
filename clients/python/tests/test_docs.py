"""Runs pages as a reader does: their files, their shell and their Python session, in order, on a real database.

Blocks of sh run in one shell, and blocks of python in one session of Python, which that shell has started. A block of
text after one of these is what it prints, where … stands for part of a line. Comments say what readers needn't see:

    <!-- file: PATH -->     the next block is that file
    <!-- start -->          the next block is a command that goes on: a worker, which soon says that it has started
    <!-- start: TEXT -->    the same of a command that soon says TEXT
    <!-- stop -->           the newest of these commands is told to stop, and ends with 0
    <!-- prints -->         the next block is among what these commands have printed
    <!-- first … -->        Python that runs before the next block
    <!-- not run -->        the next block only installs
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psycopg
import pytest
from conftest import becomes
from errand import Errand
from psycopg.conninfo import conninfo_to_dict

ROOT = Path(__file__).parents[3]
PARTS = re.compile(r"^<!-- (.+?) ?-->$|^```(\w*)\n(.*?)^```$", re.M | re.S)
#: Runs each block of its input in one namespace, and tells its end.
SESSION = """
import json, sys, traceback
for line in sys.stdin:
    try:
        exec(compile(json.loads(line), "the page", "exec"), globals())
        print("@@end", flush=True)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        sys.exit(1)
"""


@dataclass
class Block:
    line: int
    note: str
    language: str
    text: str


def parts_of(path: Path) -> list[Block]:
    """The blocks and comments of a document. A comment for the next block is its note."""
    text = path.read_text()
    parts: list[Block] = []
    note = ""
    for found in PARTS.finditer(text):
        comment, language, body = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        if comment is None:
            parts.append(Block(line, note, language, body))
            note = ""
        elif comment == "stop" or comment.startswith("first\n"):
            parts.append(Block(line, comment.split()[0], "", comment.removeprefix("first\n")))
        else:
            note = comment
    blocks = sum(part.language != "" for part in parts)
    assert len(re.findall(r"^\s*```", text, re.M)) == 2 * blocks, f"{path.name} has blocks that no reader finds"
    return parts


class Reader:
    """Who types what a page shows."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.shell = self._started(
            ["bash", "-eE", "-c", "while read -r -d '' block; do eval \"$block\"; done"], environment)
        self.python: subprocess.Popen[str] | None = None
        self.running: list[subprocess.Popen[bytes]] = []
        self.log = folder / "running.log"
        self.log.touch()

    def _started(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if command[0] == "bash" else None, text=True)

    def sh(self, text: str) -> str:
        return self._said(self.shell, f"{text}\necho @@end\0")

    def environment(self) -> dict[str, str]:
        """What the shell has exported by now."""
        return dict(entry.split("=", 1) for entry in self.sh("env -0").split("\0") if "=" in entry)

    def run_python(self, text: str) -> str:
        if self.python is None:
            self.python = self._started([sys.executable, "-c", SESSION], self.environment())
        return self._said(self.python, json.dumps(text) + "\n")

    @staticmethod
    def _said(process: subprocess.Popen[str], text: str) -> str:
        written: IO[str] | None = process.stdin
        printed: IO[str] | None = process.stdout
        assert written is not None and printed is not None
        written.write(text)
        written.flush()
        said = ""
        for line in printed:
            said += line
            if said.endswith("@@end\n"):
                return said.removesuffix("@@end\n")
        raise AssertionError(f"it fails:\n{text}\n{said}")

    def start(self, text: str, says: str) -> None:
        said = len(self.log.read_text())
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                ["bash", "-c", text], cwd=self.folder, env=self.environment(), stdout=log, stderr=log)
        self.running.append(process)
        becomes(lambda: says in self.log.read_text()[said:] or process.poll() is not None, 30)
        assert process.poll() is None, self.log.read_text()

    def stop(self) -> None:
        process = self.running.pop()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, self.log.read_text()

    def leave(self) -> None:
        for process in (*self.running, self.python, self.shell):
            if process is not None:
                process.kill()
                process.communicate()


def matches(shown: str, said: str) -> bool:
    # Where a line is continued depends on the length of what "…" stands for.
    shown, said = (re.sub(r"\n +", " ", text.rstrip()) for text in (shown, said))
    return re.fullmatch(re.escape(shown).replace("…", ".*"), said) is not None


def run(page: Path, reader: Reader) -> int:
    """Runs a page, and returns how many blocks it has."""
    said: str | None = None
    parts = parts_of(page)
    for part in parts:
        here = f"{page.name}, line {part.line}"
        kind, _, argument = part.note.partition(": ")
        if kind == "file":
            path = reader.folder / argument
            path.parent.mkdir(exist_ok=True)
            path.write_text(part.text)
            said = None
        elif kind == "start":
            reader.start(part.text, argument or "started")
            said = None
        elif kind == "stop":
            reader.stop()
        elif kind == "first":
            reader.run_python(part.text)
        elif kind == "prints":
            lines = [re.escape(line).replace("…", ".*") for line in part.text.splitlines()]
            expected = re.compile("^" + "$.*^".join(lines) + "$", re.M | re.S)
            becomes(lambda: expected.search(reader.log.read_text()), 30)
        elif kind == "not run":
            installs = re.fullmatch(r"((python3 -m venv |pip install ).*\n)+", part.text)
            assert part.language == "sh" and installs, here
        elif part.language == "sh":
            said = reader.sh(part.text)
        elif part.language == "python":
            said = reader.run_python(part.text)
        elif part.language == "text":
            assert said is not None, f"{here}: nothing prints this"
            assert matches(part.text, said), f"{here}: expected\n{part.text}\ngot\n{said}"
            said = None
        else:
            pytest.fail(f"{here}: nobody knows how to run {part.note} {part.language}")
    while reader.running:
        reader.stop()
    return len(parts)


@pytest.fixture
def reader(owner: str, tmp_path: Path) -> Iterator[Reader]:
    """One with psql and errand at hand, as the owner of the server."""
    server = conninfo_to_dict(owner)
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER"}
    environment = {
        **{name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
        **{variable: str(server[name]) for name, variable in names.items() if name in server},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["ERRAND_BIN"], os.environ["PATH"]]),
        "CHECKOUT": str(ROOT),
    }
    drop(owner)
    here = Reader(tmp_path, environment)
    try:
        yield here
    finally:
        here.leave()
        drop(owner)


def drop(owner: str) -> None:
    """Drops what the pages make."""
    with psycopg.connect(owner, autocommit=True) as connection:
        for name in ("shop", "shop_test"):
            connection.execute(f"drop database if exists {name} with (force)")
        for name in ("shop_web", "shop_worker"):
            connection.execute(f"drop role if exists {name}")


def test_the_guide_runs_word_for_word(reader: Reader) -> None:
    assert run(ROOT / "docs/python.md", reader) > 30


def test_so_does_the_guide_to_handlers_by_http(reader: Reader) -> None:
    assert run(ROOT / "docs/endpoints.md", reader) > 20


def test_so_does_the_manual_of_the_http_api(reader: Reader) -> None:
    reader.sh("createdb shop; export DATABASE_URL=postgresql:///shop; errand migrate")
    reader.start("ERRAND_QUEUES=default=10 exec errand worker", "started")
    assert run(ROOT / "docs/http-api.md", reader) > 12


def test_so_does_the_readme_of_the_client(reader: Reader) -> None:
    reader.sh("createdb shop; DATABASE_URL=postgresql:///shop errand migrate")
    assert run(ROOT / "clients/python/README.md", reader) == 4


def test_so_does_the_python_of_the_readme(errand: Errand, db: psycopg.Connection, app: str) -> None:
    [block] = [part for part in parts_of(ROOT / "README.md") if part.language == "python"]
    with psycopg.connect(app) as session:
        exec(block.text, {"url": app, "session": session})
    found = db.execute("select kind, queue, payload from errand.job").fetchall()
    assert found == [("send_receipt", "mail", {"order": 4711})]
