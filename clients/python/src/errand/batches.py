"""Batches of jobs: errand.batch_open explains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .calls import Call, Row, as_json, from_json
from .jobs import Request
from .middleware import Middleware, encoded


@dataclass(frozen=True)
class Batch:
    """A batch of jobs: `enqueue(…, batch=batch)` adds one."""

    id: int

    @staticmethod
    def opening(
        name: str, on_success: Request | None, on_finish: Request | None, on_failure: Request | None,
        properties: Mapping[str, Any] | None, middleware: Sequence[Middleware],
    ) -> Call:
        callbacks = {"on_success": on_success, "on_finish": on_finish, "on_failure": on_failure}
        given: dict[str, tuple[str, Any]] = {
            argument: ("jsonb", as_json(_element(request, middleware)))
            for argument, request in callbacks.items()
            if request is not None
        }
        if properties is not None:
            given["properties"] = ("jsonb", as_json(properties, "properties"))
        return Call("errand.batch_open", "batch_open", {"name": ("text", name), **given})

    @staticmethod
    def closing(batch: int | Batch) -> Call:
        return Call("errand.batch_close", "batch_close", {"batch_id": ("bigint", batch_id(batch))})

    @staticmethod
    def changing(what: str, batch: int | Batch, reason: str) -> Call:
        """Cancels or retries 10,000 jobs at a time, until it returns 0."""
        given = {"batch_id": ("bigint", batch_id(batch)), "reason": ("text", reason)}
        return Call(f"errand.batch_{what}", f"batch_{what}", given)


@dataclass(frozen=True)
class BatchStatus:
    """How far a batch is: errand.batch_status. Its state is open, closed or ended."""

    name: str
    state: str
    total: int
    waiting: int
    succeeded: int
    failed: int
    cancelled: int
    obsolete: int
    progress: float | None
    outcome: str | None
    opened_at: datetime
    closed_at: datetime | None
    ended_at: datetime | None
    properties: Any

    @staticmethod
    def call(batch: int | Batch) -> Call:
        return Call(
            "errand.batch_status",
            "name, state, total, waiting, succeeded, failed, cancelled, obsolete, progress, outcome, opened_at, "
            "closed_at, ended_at, properties::text",
            {"batch_id": ("bigint", batch_id(batch))},
        )

    @classmethod
    def read(cls, rows: list[Row]) -> BatchStatus:
        [row] = rows
        columns = [*row[:-1], from_json(row[-1])]
        return cls(*columns)


def _element(request: Request, middleware: Sequence[Middleware]) -> dict[str, Any]:
    element = dict(request.element)
    return {**element, "payload": encoded(middleware, element["kind"], element["payload"])}


def batch_id(batch: int | Batch) -> int:
    return batch if isinstance(batch, int) else batch.id
