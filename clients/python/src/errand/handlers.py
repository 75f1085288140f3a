"""Handlers: functions that run the jobs of a kind, with its policy; and what they say of an attempt."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .jobs import Seconds, interval
from .middleware import Middleware, decoded

if TYPE_CHECKING:
    from .attempt import Context

T = TypeVar("T")

#: What an encrypted payload has, and no other.
ENCRYPTED = "$enc"


class Outcome(Exception):
    """Raised by a handler that neither succeeds nor just fails."""


class Snooze(Outcome):
    """The job runs again after a delay, from its beginning. The attempt is not counted: it was too early."""

    def __init__(self, delay: Seconds) -> None:
        self.delay = interval(delay)
        super().__init__(f"snoozed for {self.delay}")


class Wait(Outcome):
    """The job waits for a signal, without a slot, and runs again from its beginning once that has come, or when the
    timeout is over: Context.signal says which. The attempt is not counted.

    `by` is the role whose members may send it, by default the login that the job belongs to; errand_ops may always.
    """

    def __init__(self, signal: str, timeout: Seconds, by: str | None = None) -> None:
        # Here it fails this attempt. The writer would fail with it again and again, for all jobs of the worker.
        for name, value in {"signal": signal, "by": "" if by is None else by}.items():
            if not isinstance(value, str):
                raise TypeError(f"{name}: expected a name, got {value!r}")
        self.signal = signal
        self.timeout = interval(timeout)
        self.by = by
        super().__init__(f"waits for {signal}")


class Permanent(Outcome):
    """The attempt failed, and another one would fail too: the job moves to errand.failures."""


class RetryAfter(Outcome):
    """The attempt failed, and the next one comes after this delay in place of the kind's."""

    def __init__(self, delay: Seconds, reason: str) -> None:
        self.delay = interval(delay)
        super().__init__(reason)


class Stop(BaseException):
    """Raised in an async handler, and by a context, when the attempt is not to go on: errand cancelled the job, its
    lease is lost, or the worker stops."""


@dataclass(frozen=True)
class Failure:
    """A failure of a job: what a handler gets that is told of failures."""

    #: The failed job.
    id: int
    #: What is on its record as the error.
    error: str
    #: How many attempts it took.
    attempts: int
    #: The job's payload, as its own handler gets it.
    payload: Any


@dataclass(frozen=True)
class ChunkJob(Generic[T]):
    """A job of a chunk."""

    #: Its payload, as the handler's type says.
    payload: T
    #: Its attempt.
    context: Context


@dataclass(frozen=True)
class Chunk:
    """How the jobs of a kind are gathered, for a handler of many at once."""

    #: The most jobs that the handler gets.
    size: int
    #: How long the first one waits for others, in seconds.
    within: float
    #: Only jobs with the same key are in a chunk.
    by: Callable[[Any], Any] | None

    @classmethod
    def of(cls, size: int, within: Seconds, by: Callable[[Any], Any] | None) -> Chunk:
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(f"size: expected a number of jobs, got {size!r}")
        if not 1 <= size <= 1000:
            raise ValueError(f"size: expected 1 to 1000, got {size}")
        seconds = interval(within).total_seconds()
        if not 0 <= seconds <= 60:
            raise ValueError(f"within: expected 0 to 60 s, got {within!r}")
        if by is not None and not callable(by):
            raise TypeError(f"by: expected a function of the payload, got {by!r}")
        return cls(size, seconds, by)


@dataclass(frozen=True)
class Handler:
    """A function that runs the jobs of a kind. Calling it calls the function."""

    kind: str
    function: Callable[..., Any]
    queue: str | None
    max_attempts: int | None
    priority: int | None
    retry: Sequence[Seconds] | None
    deadline: timedelta
    is_async: bool
    takes_context: bool
    payload_type: Callable[..., Any] | None
    #: Whether it is told of failures of another kind's jobs: Worker.failed.
    is_for_failures: bool = False
    #: What runs around it, outermost first: that of its worker.
    middleware: Sequence[Middleware] = field(default=(), compare=False)
    #: How its jobs are gathered, if it runs many at once: Worker.chunk.
    chunk: Chunk | None = None

    @classmethod
    def of(
        cls, function: Callable[..., Any], kind: str, queue: str | None, max_attempts: int | None,
        priority: int | None, retry: Sequence[Seconds] | None, deadline: Seconds, chunk: Chunk | None = None,
    ) -> Handler:
        parameters = list(inspect.signature(function).parameters.values())
        if not 1 <= len(parameters) <= (2 if chunk is None else 1):
            takes = "(payload) or (payload, context)" if chunk is None else "(jobs)"
            raise TypeError(f"{function.__qualname__}: expected {takes}, got {len(parameters)}")
        hint = parameters[0].annotation
        if isinstance(hint, str):
            # Only this one: other annotations may name what is imported for type checkers alone.
            try:
                hint = eval(hint, function.__globals__)
            except Exception as error:
                raise TypeError(
                    f"{function.__qualname__}: the type of the payload is unknown at run time: {error}"
                ) from None
        if chunk is not None:
            hint = _payload_of(hint)
        return cls(
            kind, function, queue, max_attempts, priority, retry, interval(deadline),
            inspect.iscoroutinefunction(function), len(parameters) == 2,
            hint if isinstance(hint, type) and dataclasses.is_dataclass(hint) else None, chunk=chunk,
        )

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        # Another process imports it by its name, which is that of the function.
        return imported, (self.function.__module__, self.function.__qualname__)

    @property
    def defaults(self) -> dict[str, Any]:
        """What an enqueue brings for a kind that no worker has registered yet."""
        given = {"queue": self.queue, "max_attempts": self.max_attempts, "priority": self.priority}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def for_failures(self) -> str:
        """The kind of the jobs that are enqueued for failures of this one."""
        return f"{self.kind}.failed"

    def called(self, payload: Any, context: Any) -> Any:
        """What the function returns for a stored payload."""
        payload = self.decoded(payload)
        return self.function(payload, context) if self.takes_context else self.function(payload)

    def decoded(self, payload: Any) -> Any:
        """The payload as the function takes it. Raises Permanent for one that isn't such: it never will be."""
        if self.is_for_failures:
            return Failure(
                payload["job_id"], payload["error"], payload["attempt"],
                replace(self, kind=payload["kind"], is_for_failures=False).decoded(payload["payload"]),
            )
        payload = self.plain(payload)
        if self.payload_type is None:
            return payload
        name = getattr(self.payload_type, "__name__", "another")
        try:
            hook = getattr(self.payload_type, "from_payload", None)
            return self.payload_type(**payload) if hook is None else hook(payload)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            what = "" if isinstance(error, TypeError) else f"{type(error).__name__}: "
            raise Permanent(f"payload: expected {name}: {what}{error}") from None

    def plain(self, payload: Any) -> Any:
        """The payload as its enqueue had it."""
        payload = decoded(self.middleware, self.kind, payload)
        if isinstance(payload, dict) and ENCRYPTED in payload:
            raise Permanent(f"payload of {self.kind} is encrypted: expected a worker with its keys, got one without")
        return payload


def _payload_of(hint: Any) -> Any:
    """The type of the payload in that of a chunk, such as list[ChunkJob[View]]; None if that doesn't say."""
    [job] = typing.get_args(hint)[:1] or [None]
    [payload] = typing.get_args(job)[:1] or [None]
    return payload if typing.get_origin(job) is ChunkJob else None


def imported(module: str, name: str) -> Handler:
    """The handler with that name in a module."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Handler):
        raise LookupError(f"expected a handler {name} at the top of {module}, got {type(found).__name__}")
    return found
