"""python -m errand worker MODULE[:NAME] …: runs the worker that a module defines; doctor reads payloads for it."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from typing import NoReturn

import psycopg

from .doctor import read_payloads
from .errors import ErrandError
from .worker import Worker

#: Exit codes, as those of the program `errand`.
COMMAND, CONFIGURATION = 64, 78


class Refused(Exception):
    """Why no worker starts, and the exit code."""

    def __init__(self, message: str, code: int = CONFIGURATION) -> None:
        super().__init__(message)
        self.code = code


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(COMMAND, f"{self.prog}: {message}\n")


def main(arguments: list[str] | None = None) -> int:
    given = parse(arguments)
    logging.basicConfig(level=given.log, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.path.insert(0, os.getcwd())
    try:
        return int(given.run(find(given.module), given))
    except Refused as refused:
        print(f"python -m errand: {refused}", file=sys.stderr)
        return refused.code


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = Parser(prog="python -m errand", description="Jobs on PostgreSQL")
    commands = parser.add_subparsers(required=True, metavar="{worker,doctor}")
    worker = commands.add_parser("worker", help="run the worker that a module defines")
    worker.set_defaults(run=start)
    doctor = commands.add_parser(
        "doctor", help="decode the payloads of unfinished and failed jobs, before a new version is deployed"
    )
    doctor.set_defaults(run=check_payloads, log="WARNING")
    for command in (worker, doctor):
        command.add_argument("module", help="MODULE, such as app.jobs; MODULE:NAME if it has several workers")
        command.add_argument(
            "--conninfo", default=os.environ.get("DATABASE_URL", ""),
            help="the database, as libpq takes it (default: $DATABASE_URL, which no list of processes shows)",
        )
    worker.add_argument("--queues", help="the queues to pull from, with commas (default: those of the handlers)")
    worker.add_argument("--concurrency", type=int, help="how many handlers run at once (default: the worker's, 10)")
    worker.add_argument("--processes", action="store_true", help="run handlers in processes, not threads")
    worker.add_argument("--port", type=int, help="the port of /metrics and /health")
    worker.add_argument("--host", help="the address of that port (default: 127.0.0.1)")
    worker.add_argument("--no-maintenance", action="store_true", help="leave maintenance and schedules to others")
    worker.add_argument(
        "--log", default="INFO", type=str.upper, choices=["DEBUG", "INFO", "WARNING", "ERROR"],
        help="the level of the log (default: INFO)",
    )
    return parser.parse_args(arguments)


def check_payloads(worker: Worker, given: argparse.Namespace) -> int:
    """Prints what doesn't fit the worker's handlers, and returns 1 if there is any."""
    try:
        read, unreadable = read_payloads(given.conninfo, worker.handlers)
    except (PermissionError, psycopg.Error) as error:
        raise Refused(str(error).strip()) from None
    for found in unreadable:
        print(found)
    print(f"{read} payloads read, {sum(found.jobs for found in unreadable)} don't fit")
    return 1 if unreadable else 0


def start(worker: Worker, given: argparse.Namespace) -> int:
    if given.queues:
        worker.queues = given.queues.split(",")
    if given.concurrency is not None:
        worker.concurrency = given.concurrency
    if given.processes:
        worker.mode = "processes"
    if given.port is not None:
        worker.port = given.port
    if given.host is not None:
        worker.host = given.host
    if given.no_maintenance:
        worker.maintain = False
    if not given.conninfo:
        logging.getLogger("errand").warning("DATABASE_URL is not set: libpq's own defaults name the database")
    try:
        worker.check()
    except (TypeError, ValueError) as error:
        raise Refused(f"{given.module}: {error}") from None
    try:
        worker.run(given.conninfo)
    except psycopg.errors.InvalidSchemaName:
        raise Refused("the database has no schema of Errand: run errand migrate") from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise Refused(f"{error.diag.message_primary}: a worker's login needs the role errand_worker") from None
    except (psycopg.Error, ErrandError) as error:
        raise Refused(str(error).strip()) from None
    except OSError as error:
        raise Refused(f"port {worker.port} of {worker.host}: {error.strerror}") from None
    return 0


def find(path: str) -> Worker:
    """The worker MODULE:NAME, or the only one of MODULE. What the module itself raises goes on."""
    module_name, _, name = path.partition(":")
    if "/" in module_name or module_name.endswith(".py"):
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise Refused(f"{path}: expected the name of a module, such as {dotted}", COMMAND)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise Refused(f"{module_name}: {error}; searched from {os.getcwd()}") from None
    workers = {key: value for key, value in vars(module).items() if isinstance(value, Worker)}
    names = ", ".join(workers) or "none"
    if name:
        if name not in workers:
            raise Refused(f"{module_name}: expected a Worker of the name {name}, got {names}")
        return workers[name]
    if len(set(map(id, workers.values()))) != 1:
        raise Refused(f"{module_name}: expected one Worker, got {names}" + ": name it as MODULE:NAME" * bool(workers))
    return next(iter(workers.values()))


if __name__ == "__main__":
    sys.exit(main())
