"""python -m errand worker MODULE[:NAME] …: runs the worker that a module defines."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys

from .worker import Worker


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m errand", description="Jobs on PostgreSQL")
    commands = parser.add_subparsers(required=True)
    worker = commands.add_parser("worker", help="run the worker that a module defines")
    worker.add_argument("module", help="MODULE, or MODULE:NAME if it has several workers")
    worker.add_argument(
        "--conninfo", default=os.environ.get("DATABASE_URL", ""), help="the database (default: $DATABASE_URL)"
    )
    worker.add_argument("--queues", help="the queues to pull from, with commas (default: those of the handlers)")
    worker.add_argument("--concurrency", type=int, help="how many handlers run at once (default: 10)")
    worker.add_argument("--processes", action="store_true", help="run handlers in processes, not threads")
    worker.add_argument("--port", type=int, help="the port of /metrics and /health on this machine")
    worker.add_argument("--no-maintenance", action="store_true", help="leave maintenance and schedules to others")
    worker.add_argument("--log", default="INFO", help="the level of the log (default: INFO)")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=given.log.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.path.insert(0, os.getcwd())
    found = find(given.module)
    if given.queues:
        found.queues = given.queues.split(",")
    if given.concurrency is not None:
        found.concurrency = given.concurrency
    if given.processes:
        found.mode = "processes"
    if given.port is not None:
        found.port = given.port
    if given.no_maintenance:
        found.maintain = False
    found.run(given.conninfo)
    return 0


def find(path: str) -> Worker:
    module_name, _, name = path.partition(":")
    module = importlib.import_module(module_name)
    workers = {key: value for key, value in vars(module).items() if isinstance(value, Worker)}
    if name:
        workers = {name: workers[name]} if name in workers else {}
    if len(workers) != 1:
        raise SystemExit(f"{path}: expected one Worker, got {', '.join(workers) or 'none'}: name it as MODULE:NAME")
    return next(iter(workers.values()))


if __name__ == "__main__":
    sys.exit(main())
