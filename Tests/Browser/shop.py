"""A running Errand to look at: a database, a worker, a scheduler and three web processes.

One needs a log-in, one is open and read-only, and one shows three databases as cells, of which one is away.
"""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a calm password of five words"
TOKEN = "a-token-of-more-than-twenty-characters"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Shop:
    """Starts the processes, and stops them at the end."""

    def __init__(self, program, server_url, folder):
        self.program = program
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.server_url = server_url
        self.url = server_url.replace("/errand?", "/page?")
        self.second_url = server_url.replace("/errand?", "/second?")
        self.processes = []

    def __enter__(self):
        for name in ("page", "second"):
            self.psql(f"drop database if exists {name} with (force)", url=self.server_url)
            self.psql(f"create database {name}", url=self.server_url)
        self.errand("migrate")
        self.errand("migrate", "--cell", "1", DATABASE_URL=self.second_url)
        self.password_setting = self.errand("web", "password", "alice", given=PASSWORD + "\n").strip()
        self.psql(file=ROOT / "Tests/Browser/seed.sql")
        self.worker = self.start("worker", ERRAND_QUEUES="default=8,images=2")
        self.scheduler = self.start("scheduler")
        self.port, self.open_port, self.cells_port = free_port(), free_port(), free_port()
        self.start("web", ERRAND_WEB_ADDRESS=f"127.0.0.1:{self.port}", ERRAND_WEB_PASSWORDS=self.password_setting,
                   ERRAND_WEB_TOKENS=f"ci={TOKEN}", ERRAND_LOG_LEVEL="debug")
        self.start("web", name="open", ERRAND_WEB_ADDRESS=f"127.0.0.1:{self.open_port}")
        self.start("web", name="cells", ERRAND_WEB_ADDRESS=f"127.0.0.1:{self.cells_port}",
                   ERRAND_WEB_PASSWORDS=self.password_setting,
                   DATABASE_URL=f"{self.url} {self.second_url} postgresql://127.0.0.1:1/away")
        self.site = f"http://127.0.0.1:{self.port}"
        self.open_site = f"http://127.0.0.1:{self.open_port}"
        self.cells_site = f"http://127.0.0.1:{self.cells_port}"
        sites = (self.site, self.open_site, self.cells_site)
        self.wait(lambda: all(self.replies(site) for site in sites), "the web processes reply")
        self.wait(lambda: self.psql("select count(*) from errand.worker") == "1", "the worker is registered")
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ERRAND_", "PG"))}
        return kept | {"DATABASE_URL": self.url, "STORAGE_URL": str(self.folder / "storage")} | more

    def start(self, command, name=None, **settings):
        log = open(self.folder / f"{name or command}.log", "w")
        process = subprocess.Popen(
            [self.program, command], env=self.environment(**settings), stderr=log, stdout=log, cwd=self.folder)
        self.processes.append(process)
        return process

    def errand(self, *arguments, given=None, **settings):
        return subprocess.run(
            [self.program, *arguments], env=self.environment(**settings), input=given, capture_output=True, text=True,
            check=True, cwd=self.folder).stdout

    def psql(self, query=None, file=None, url=None):
        what = ["-f", str(file)] if file else ["-c", query]
        done = subprocess.run(
            ["psql", "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", *what, url or self.url],
            capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    @staticmethod
    def replies(site):
        try:
            return urllib.request.urlopen(site + "/healthz", timeout=2).status == 200
        except (urllib.error.URLError, OSError):
            return False

    @staticmethod
    def wait(condition, what, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.1)
        raise AssertionError(f"not within {seconds} s: {what}")

    def log(self):
        return "".join(path.read_text() for path in self.folder.glob("*.log"))
