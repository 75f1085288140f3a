"""A database for the tests, made by `errand migrate`, and logins without other rights than theirs."""

import os
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from errand import Errand, Worker
from psycopg.conninfo import conninfo_to_dict, make_conninfo


@pytest.fixture(scope="session")
def owner() -> Iterator[str]:
    """The conninfo of the database's owner."""
    cluster = os.environ["ERRAND_CLUSTER_URL"]
    name = "python_" + uuid.uuid4().hex[:8]
    with psycopg.connect(cluster, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    conninfo = make_conninfo(**{**conninfo_to_dict(cluster), "dbname": name})
    environment = {**os.environ, "DATABASE_URL": conninfo}
    subprocess.run([os.environ["ERRAND_BIN"] + "/errand", "migrate"], env=environment, check=True, capture_output=True)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for role, rights in LOGINS.items():
            exists = connection.execute("select from pg_roles where rolname = %s", [role]).fetchone()
            if exists is None:
                connection.execute(f"create role {role} login")
            connection.execute(f"grant {rights} to {role}")
        connection.execute("create table note (text text)")
        connection.execute("grant all on note to public")
    yield conninfo
    with psycopg.connect(cluster, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


LOGINS = {"python_app": "errand_enqueuer", "python_worker": "errand_worker, errand_enqueuer",
          "python_other": "errand_enqueuer"}


def login(conninfo: str, role: str) -> str:
    return make_conninfo(conninfo, user=role)


@pytest.fixture
def app(owner: str) -> str:
    """The conninfo of an application's login."""
    return login(owner, "python_app")


@pytest.fixture
def worker_login(owner: str) -> str:
    return login(owner, "python_worker")


@pytest.fixture
def other(owner: str) -> str:
    return login(owner, "python_other")


@pytest.fixture
def errand(app: str) -> Iterator[Errand]:
    with Errand(app) as client:
        yield client


@pytest.fixture
def db(owner: str) -> Iterator[psycopg.Connection]:
    """The owner's connection, on a queue without jobs."""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("truncate errand.job, errand.failed, errand.history, errand.limit_slot, errand.claim")
        connection.execute("truncate note")
        connection.execute("delete from errand.worker")
        yield connection


@pytest.fixture
def running(worker_login: str) -> Callable[..., object]:
    """Runs a worker in a thread, and stops it at the end of a block."""

    @contextmanager
    def run(worker: Worker, conninfo: str = worker_login) -> Iterator[Worker]:
        thread = threading.Thread(target=worker.run, args=(conninfo,))
        thread.start()
        try:
            yield worker
        finally:
            worker.stop()
            thread.join(30)
            assert not thread.is_alive(), "the worker didn't stop"

    return run


def becomes(condition: Callable[[], object], seconds: float = 10) -> object:
    """Waits until a condition holds, and returns its value. The time is for a busy machine: it says nothing."""
    import time

    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    assert value, "it never became so"
    return value


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
