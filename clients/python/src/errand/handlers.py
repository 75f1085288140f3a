"""Handlers: functions that run the jobs of a kind, with its policy; and what they say of an attempt."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from .jobs import Seconds, interval
from .middleware import Middleware, decoded

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

    @classmethod
    def of(
        cls, function: Callable[..., Any], kind: str, queue: str | None, max_attempts: int | None,
        priority: int | None, retry: Sequence[Seconds] | None, deadline: Seconds,
    ) -> Handler:
        parameters = list(inspect.signature(function).parameters.values())
        if not 1 <= len(parameters) <= 2:
            raise TypeError(f"{function.__qualname__}: expected (payload) or (payload, context), got {len(parameters)}")
        hint = parameters[0].annotation
        if isinstance(hint, str):
            # Only this one: other annotations may name what is imported for type checkers alone.
            try:
                hint = eval(hint, function.__globals__)
            except Exception as error:
                raise TypeError(
                    f"{function.__qualname__}: the type of the payload is unknown at run time: {error}"
                ) from None
        return cls(
            kind, function, queue, max_attempts, priority, retry, interval(deadline),
            inspect.iscoroutinefunction(function), len(parameters) == 2,
            hint if isinstance(hint, type) and dataclasses.is_dataclass(hint) else None,
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


def imported(module: str, name: str) -> Handler:
    """The handler with that name in a module."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Handler):
        raise LookupError(f"expected a handler {name} at the top of {module}, got {type(found).__name__}")
    return found
