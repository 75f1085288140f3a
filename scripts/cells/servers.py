"""PostgreSQL servers, sessions with them, and `errand` processes, for measure.py."""

import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path


class Failed(Exception):
    """A statement failed, or its connection is lost."""


class Session:
    """A psql that stays connected: a statement costs no process and no connection of its own."""

    def __init__(self, url):
        words = ["psql", "-X", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", url]
        self.psql = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     text=True, bufsize=1)

    def sql(self, text):
        """The rows as one text."""
        try:
            self.psql.stdin.write(f"{text.rstrip(';')};\n\\echo ==end\n")
            self.psql.stdin.flush()
        except BrokenPipeError as error:
            raise Failed("the connection is lost") from error
        lines = []
        for line in self.psql.stdout:
            if line == "==end\n":
                return "\n".join(lines)
            if not line.startswith(("NOTICE:", "WARNING:", "DETAIL:", "HINT:")):
                lines.append(line.rstrip("\n"))
        raise Failed(" ".join(lines) or "the connection is lost")

    def close(self):
        self.psql.kill()
        self.psql.wait()


def sql(url, text):
    session = Session(url)
    try:
        return session.sql(text)
    finally:
        session.close()


class Server:
    """A cluster of cluster.sh, and the databases in it."""

    def __init__(self, folder, url):
        self.folder, self.url = folder, url
        self.data = Path(sql(url, "show data_directory"))

    def database(self, name):
        return self.url.replace("/errand?", f"/{name}?")

    def make(self, name):
        sql(self.url, f'drop database if exists "{name}" with (force)')
        sql(self.url, f'create database "{name}"')
        return self.database(name)

    @property
    def postmaster(self):
        return int((self.data / "postmaster.pid").read_text().split()[0])

    @property
    def pids(self):
        pid = self.postmaster
        return [pid, *Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def kill(self):
        os.kill(self.postmaster, signal.SIGKILL)

    def start(self):
        subprocess.run(["scripts/cluster.sh", "start", self.folder], check=True, stdout=subprocess.DEVNULL)


class Errand:
    """The program."""

    path = ""

    @classmethod
    def run(cls, *arguments, **settings):
        result = subprocess.run([cls.path, *arguments], env=cls.environment(settings), capture_output=True, text=True,
                                check=False)
        if result.returncode:
            raise Failed(f"errand {' '.join(arguments)}: {result.stderr.strip()}")
        return result.stdout

    @staticmethod
    def environment(settings):
        return {"PATH": os.environ["PATH"], **settings}

    def __init__(self, *arguments, **settings):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([self.path, *arguments], env=self.environment(settings),
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Load(threading.Thread):
    """Runs a statement at a steady pace until it is stopped. `{n}` in it is a number that is new each time."""

    def __init__(self, url, statement, interval):
        super().__init__(daemon=True)
        self.url, self.statement, self.interval = url, statement, interval
        self.done, self.errors = [], queue.SimpleQueue()
        self.stops = threading.Event()
        self.start()

    def run(self):
        session, number, due = None, 0, time.time()
        while not self.stops.is_set():
            due = max(due + self.interval, time.time() - 1)
            number += 1
            try:
                session = session or Session(self.url)
                session.sql(self.statement.replace("{n}", str(number)))
                self.done.append(time.time())
            except Failed as error:
                self.errors.put(str(error))
                if session:
                    session.close()
                session = None
                self.stops.wait(0.1)
            self.stops.wait(max(0, due - time.time()))
        if session:
            session.close()

    def stop(self):
        self.stops.set()
        self.join()
