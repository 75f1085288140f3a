"""What a worker tells the database of its kinds, and how it pulls."""

from __future__ import annotations

import json
from typing import Any

from .attempt import PulledJob
from .calls import Call, run
from .connections import connect
from .handlers import Handler
from .jobs import interval


def register(conninfo: str, handlers: list[Handler]) -> None:
    """Stores the policies of the kinds: errand.put_kind."""
    told = {handler.kind for handler in handlers if handler.is_for_failures}
    with connect(conninfo, "errand registration") as connection:
        for handler in handlers:
            arguments: dict[str, tuple[str, Any]] = {
                "kind": ("text", handler.kind),
                "queue": ("text", handler.queue),
                "max_attempts": ("int", handler.max_attempts),
                "priority": ("int", handler.priority),
                "on_failure": ("text", handler.for_failures if handler.for_failures in told else ""),
            }
            if handler.retry is not None:
                delays = [f"{interval(delay).total_seconds():.6f} s" for delay in handler.retry]
                arguments["retry_delays"] = ("interval[]", delays)
            run(connection, Call("errand.put_kind", "*", arguments))


def pull_call(
    queues: list[str], kinds: list[str], most: int, worker_id: str | None, lease: float, free: int, name: str,
    listens: bool,
) -> Call:
    """The call that pulls. It doesn't say what runs: the lease is kept on a connection of its own."""
    return Call(
        "errand.pull",
        "worker_id, id, token, queue, kind, attempt, max_attempts, created_at, run_at, payload::text, options::text",
        {
            "queues": ("text[]", queues),
            "kinds": ("text[]", kinds),
            "max_jobs": ("int", most),
            "lease": ("interval", f"{lease} s"),
            "worker": ("uuid", worker_id),
            "running": ("text[]", None),
            "begin_now": ("int", free),
            "listens": ("boolean", listens),
            "label": ("text", name),
        },
    )


def pulled(row: Any) -> PulledJob:
    """A job of a row of errand.pull."""
    _, id, token, queue_name, kind, attempt, max_attempts, created_at, run_at, payload, options = row
    return PulledJob(
        id, token, queue_name, kind, attempt, max_attempts, created_at, run_at, json.loads(payload),
        None if options is None else json.loads(options),
    )
