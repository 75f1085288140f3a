"""What callers ask for and get: jobs, their state and their end, and schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from .calls import Call, Row, as_json, from_json
from .middleware import Middleware, encoded
from .tracing import present_trace

if TYPE_CHECKING:
    from .batches import Batch
    from .handlers import Handler
    from .options import ScheduleOptions

Seconds = float | timedelta


def name_of(kind: str | Handler) -> str:
    name = kind if isinstance(kind, str) else getattr(kind, "kind", None)
    if not isinstance(name, str):
        raise TypeError(f"kind: expected a name, or a function that Worker.job has made a handler, got {kind!r}")
    return name


def interval(value: Seconds) -> timedelta:
    return value if isinstance(value, timedelta) else timedelta(seconds=value)


class Enqueued(Protocol):
    """A job that was enqueued."""

    @property
    def id(self) -> int: ...


@dataclass(frozen=True)
class Request:
    """A job to enqueue. Options that are None are the kind's defaults: errand.enqueue explains each.

    `after` has the jobs that it waits for, as jobs or ids; in a call of enqueue_many also requests before it.
    """

    kind: str | Handler
    payload: Any = None
    queue: str | None = None
    run_at: datetime | None = None
    delay: Seconds | None = None
    priority: int | None = None
    max_attempts: int | None = None
    unique_key: str | None = None
    on_conflict: str | None = None
    not_after: datetime | None = None
    limit_key: str | None = None
    guard: str | None = None
    tags: Sequence[str] | None = None
    subject: str | None = None
    traceparent: str | None = None
    follow: bool = False
    after: Sequence[int | Enqueued | Request] | None = None
    if_parent_fails: str | None = None
    rate_key: str | None = None
    unique_for: Seconds | None = None
    unique_while: str | None = None
    no_later_than: Seconds | None = None
    order_key: str | None = None
    if_head_fails: str | None = None
    batch: int | Batch | None = None

    @classmethod
    def of(cls, kind: str | Handler, payload: Any, options: Mapping[str, Any]) -> Request:
        """Raises TypeError for an option that there is not."""
        known = [field.name for field in fields(cls) if field.name not in ("kind", "payload")]
        if unknown := [name for name in options if name not in known]:
            raise TypeError(f"enqueue: expected options of {', '.join(known)}, got {', '.join(unknown)}")
        return cls(kind, payload, **options)

    @property
    def arguments(self) -> dict[str, tuple[str, Any]]:
        """The arguments of errand.enqueue that are given, with their types."""
        if self.delay is not None and self.run_at is not None:
            raise ValueError("expected run_at or delay, got both")
        if isinstance(self.tags, str):
            raise TypeError(f"tags: expected a list of words, got {self.tags!r}")
        run_at = self.run_at if self.delay is None else datetime.now(UTC) + interval(self.delay)
        name = name_of(self.kind)
        defaults = None if isinstance(self.kind, str) else self.kind.defaults
        traceparent = self.traceparent or present_trace()
        given = {
            "kind": ("text", name),
            "payload": ("jsonb", as_json({} if self.payload is None else self.payload)),
            "queue": ("text", self.queue),
            "run_at": ("timestamptz", run_at),
            "priority": ("int", self.priority),
            "max_attempts": ("int", self.max_attempts),
            "unique_key": ("text", self.unique_key),
            "on_conflict": ("text", self.on_conflict),
            "not_after": ("timestamptz", self.not_after),
            "limit_key": ("text", self.limit_key),
            "guard": ("text", self.guard),
            "tags": ("text[]", None if self.tags is None else list(self.tags)),
            "subject": ("text", self.subject),
            "options": ("jsonb", None if traceparent is None else as_json({"traceparent": traceparent})),
            "follow": ("boolean", True if self.follow else None),
            "kind_defaults": ("jsonb", as_json(defaults) if defaults else None),
            "after": ("bigint[]", None if self.after is None else [parent_id(parent) for parent in self.after]),
            "if_parent_fails": ("text", self.if_parent_fails),
            "rate_key": ("text", self.rate_key),
            "unique_for": ("interval", None if self.unique_for is None else interval(self.unique_for)),
            "unique_while": ("text", self.unique_while),
            "no_later_than": ("interval", None if self.no_later_than is None else interval(self.no_later_than)),
            "order_key": ("text", self.order_key),
            "if_head_fails": ("text", self.if_head_fails),
            "batch": ("bigint", self.batch if self.batch is None or isinstance(self.batch, int) else self.batch.id),
        }
        return {name: (type_, value) for name, (type_, value) in given.items() if value is not None}

    @property
    def call(self) -> Call:
        return Call("errand.enqueue", "job_id, inserted, state", self.arguments)

    @property
    def element(self) -> dict[str, Any]:
        """The same as an element of errand.enqueue_many."""
        return {
            name: from_json(value)
            if type_ == "jsonb"
            else value.isoformat()
            if isinstance(value, datetime)
            else f"{value.total_seconds()} seconds"
            if isinstance(value, timedelta)
            else value
            for name, (type_, value) in self.arguments.items()
        }


def parent_id(parent: int | Enqueued | Request) -> int:
    if isinstance(parent, Request):
        raise TypeError("after: expected jobs or ids, got a request: enqueue both in one call of enqueue_many")
    return parent if isinstance(parent, int) else parent.id


def many(requests: Sequence[Request], middleware: Sequence[Middleware] = ()) -> Call:
    numbers = {id(request): number for number, request in enumerate(requests, 1)}
    elements = [_element(request, numbers) for request in requests]
    if middleware:
        for element in elements:
            element["payload"] = encoded(middleware, element["kind"], element["payload"])
    return Call("errand.enqueue_many", "job_id, inserted, state", {"jobs": ("jsonb", as_json(elements))})


def _element(request: Request, numbers: Mapping[int, int]) -> dict[str, Any]:
    within = [numbers.get(id(parent)) for parent in request.after or () if isinstance(parent, Request)]
    if not within:
        return request.element
    if None in within:
        raise ValueError("after: expected requests of the same call, got another")
    others = [parent for parent in request.after or () if not isinstance(parent, Request)]
    return replace(request, after=others or None).element | {"after_elements": within}


@dataclass(frozen=True)
class Status:
    """A job of one's own as it stands: errand.job."""

    id: int
    kind: str
    queue: str
    state: str
    attempt: int
    max_attempts: int
    run_at: datetime | None
    finished_at: datetime | None
    waiting_for: str | None
    progress: float | None
    message: str | None
    output: Any
    error: str | None

    @staticmethod
    def call(id: int | None, unique_key: str | None) -> Call:
        if (id is None) == (unique_key is None):
            raise TypeError("job: expected an id or a unique_key")
        columns = (
            "id, kind, queue, state, attempt, max_attempts, run_at, finished_at, waiting_for, progress, message, "
            "output::text, error"
        )
        return Call("errand.job", columns, {"job_id": ("bigint", id), "unique_key": ("text", unique_key)})

    @classmethod
    def read(cls, rows: list[Row]) -> Status | None:
        if not rows:
            return None
        fields = list(rows[0])
        fields[11] = from_json(fields[11])
        return cls(*fields)


@dataclass(frozen=True)
class EndedJob:
    """How a job has ended: succeeded, failed, cancelled or obsolete."""

    id: int
    state: str
    output: Any
    error: str | None


@dataclass(frozen=True)
class Parent:
    """A job that another one has waited for: errand.parents. Its state is None if it is no longer on record."""

    id: int
    state: str | None
    output: Any

    @staticmethod
    def call(token: str) -> Call:
        return Call("errand.parents", "job_id, state, output::text", {"token": ("text", token)})

    @classmethod
    def read(cls, rows: list[Row]) -> list[Parent]:
        return [cls(id, state, from_json(output)) for id, state, output in rows]


@dataclass(frozen=True)
class Reason:
    """Why a job isn't running: errand.explain_own. The hint says what to do about it."""

    code: str
    detail: str
    hint: str | None

    @staticmethod
    def call(id: int) -> Call:
        return Call("errand.explain_own", "code, detail, hint", {"job_id": ("bigint", id)})

    @classmethod
    def read(cls, rows: list[Row]) -> list[Reason]:
        return [cls(*row) for row in rows]


@dataclass(frozen=True)
class Schedule:
    """A schedule of one's own: errand.own_schedules."""

    name: str
    cron: str
    time_zone: str
    kind: str
    next_tick: datetime | None
    paused_reason: str | None
    problem: str | None
    last_ticks: list[dict[str, Any]]

    @staticmethod
    def all() -> Call:
        columns = "name, cron, time_zone, kind, next_tick, paused_reason, problem, last_ticks::text"
        return Call("errand.own_schedules", columns, {})

    @classmethod
    def read(cls, rows: list[Row]) -> list[Schedule]:
        return [cls(*[*row[:7], from_json(row[7])]) for row in rows]

    @staticmethod
    def put(name: str, cron: str, kind: str | Handler, payload: Any, options: ScheduleOptions) -> Call:
        types = {
            "max_lateness": "interval", "max_catch_up": "int", "priority": "int", "tags": "text[]",
            "jitter": "interval", "starts_at": "timestamptz", "ends_at": "timestamptz",
        }
        given: dict[str, tuple[str, Any]] = {
            option: (types.get(option, "text"), value) for option, value in options.items()
        }
        return Call(
            "errand.put_own_schedule",
            "*",
            {
                "name": ("text", name),
                "cron": ("text", cron),
                "kind": ("text", name_of(kind)),
                "payload": ("jsonb", as_json({} if payload is None else payload)),
            }
            | given,
        )

    @staticmethod
    def change(what: str, name: str, reason: str | None) -> Call:
        arguments = {"name": ("text", name)}
        if reason is not None:
            arguments["reason"] = ("text", reason)
        return Call(f"errand.{what}_own_schedule", "*", arguments)


def signalled(name: str, payload: Any) -> Call:
    arguments = {"name": ("text", name), "payload": ("jsonb", as_json({} if payload is None else payload))}
    return Call("errand.signal", "signal", arguments)


def cancellation(ids: Sequence[int], reason: str) -> Call:
    return Call("errand.cancel_own", "job_id, was, now", {"ids": ("bigint[]", list(ids)), "reason": ("text", reason)})
