"""What is done around each job: a trace, a tenant, encrypted payloads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from .calls import as_json, from_json

if TYPE_CHECKING:
    from .attempt import Context


class Middleware:
    """Runs around each handler of a worker, and changes the payloads of a client and a worker.

        class Timed(Middleware):
            def run(self, context, next):
                start = time.monotonic()
                try:
                    return next()
                finally:
                    print(context.job.kind, time.monotonic() - start)

        worker = Worker(middleware=[Timed()])

    A list of them has the outermost first. By default each runs the next one, and leaves payloads as they are.
    """

    def run(self, context: Context, next: Callable[[], Any]) -> Any:
        """Runs around a handler that is no coroutine. `next` decodes the payload and calls the handler, or the next
        middleware. What this returns or raises is what the handler did."""
        return next()

    async def async_run(self, context: Context, next: Callable[[], Awaitable[Any]]) -> Any:
        """The same for an async handler."""
        return await next()

    def run_chunk(self, contexts: Sequence[Context], next: Callable[[], Any]) -> Any:
        """Runs around a handler of many jobs (Worker.chunk), once for all whose payloads it gets. `next` calls the
        handler, or the next middleware. What this returns or raises is what the handler did.

        A middleware with a `run` needs one too, or a worker with such handlers doesn't start.
        """
        return next()

    async def async_run_chunk(self, contexts: Sequence[Context], next: Callable[[], Awaitable[Any]]) -> Any:
        """The same for an async handler."""
        return await next()

    def encode(self, kind: str, payload: Any) -> Any:
        """The payload to store, as JSON has it, when a job is enqueued. The innermost of a list is asked first."""
        return payload

    def decode(self, kind: str, payload: Any) -> Any:
        """The payload that `encode` got. The outermost of a list is asked first. It also gets payloads that were stored
        without it, by SQL or an older program. What it raises, the attempt fails with: for good if that is Permanent.
        """
        return payload


def encoded(chain: Sequence[Middleware], kind: str, payload: Any) -> Any:
    """A payload as the chain has it stored."""
    if not chain:
        return payload
    payload = from_json(as_json({} if payload is None else payload))
    for middleware in reversed(chain):
        payload = middleware.encode(kind, payload)
    return payload


def decoded(chain: Sequence[Middleware], kind: str, payload: Any) -> Any:
    """A payload from what `encoded` has returned."""
    for middleware in chain:
        payload = middleware.decode(kind, payload)
    return payload


def around(chain: Sequence[Middleware], context: Context, call: Callable[[], Any]) -> Any:
    """Calls a function with the chain around it."""
    for middleware in reversed(chain):
        call = _bound(middleware.run, context, call)
    return call()


async def async_around(chain: Sequence[Middleware], context: Context, call: Callable[[], Awaitable[Any]]) -> Any:
    """The same for a coroutine."""
    for middleware in reversed(chain):
        call = _bound(middleware.async_run, context, call)
    return await call()


def around_chunk(chain: Sequence[Middleware], contexts: Sequence[Context], call: Callable[[], Any]) -> Any:
    """Calls a function of many jobs with the chain around it."""
    for middleware in reversed(chain):
        call = _bound(middleware.run_chunk, contexts, call)
    return call()


async def async_around_chunk(
    chain: Sequence[Middleware], contexts: Sequence[Context], call: Callable[[], Awaitable[Any]]
) -> Any:
    """The same for a coroutine."""
    for middleware in reversed(chain):
        call = _bound(middleware.async_run_chunk, contexts, call)
    return await call()


def check_chunks(chain: Sequence[Middleware], kind: str, is_async: bool) -> None:
    """Raises TypeError for a middleware that would silently not run around the chunks of a kind."""
    run = "async_run" if is_async else "run"
    for middleware in chain:
        own = type(middleware)
        if _has(own, run) and not _has(own, f"{run}_chunk"):
            raise TypeError(f"{kind}: middleware: expected {own.__name__}.{run}_chunk beside its {run}, got none")


def _has(own: type[Middleware], name: str) -> bool:
    return getattr(own, name, None) is not getattr(Middleware, name)


def _bound(run: Callable[[Any, Any], Any], context: Any, call: Any) -> Callable[[], Any]:
    return lambda: run(context, call)
