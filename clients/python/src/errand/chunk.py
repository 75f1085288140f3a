"""Runs a chunk: many jobs by one call of their handler, each with an end of its own."""

from __future__ import annotations

from typing import Any

from .attempt import Context, Ended, cancelled, end_of, log_failure, raised, returned
from .handlers import ChunkJob, Handler, Permanent
from .middleware import around_chunk, async_around_chunk

#: The end of a job that the handler doesn't get, or None and the job.
_Decoded = tuple[Ended | None, ChunkJob[Any]]


def key_of(handler: Handler, context: Context) -> tuple[Any, Ended | None]:
    """What the jobs of a job's chunk have in common; or how its attempt ends, if its payload has no such key."""
    if handler.chunk is None or handler.chunk.by is None:
        return None, None
    try:
        key = handler.chunk.by(handler.decoded(context.job.payload))
        hash(key)
    except BaseException as error:  # it ends an attempt, not the worker
        return None, _failed(error, context)
    return key, None


def run_chunk(handler: Handler, contexts: list[Context]) -> list[Ended]:
    """Runs a handler in this thread, and returns an end for each job."""
    decoded = [_decoded(handler, context) for context in contexts]
    jobs = [job for end, job in decoded if end is None]
    ends: list[Ended] = []
    if jobs:
        try:
            ends = _outcomes(around_chunk(handler.middleware, _contexts(jobs), lambda: handler.function([*jobs])), jobs)
        except BaseException as error:  # also SystemExit: it ends attempts, not the worker
            ends = [_failed(error, job.context) for job in jobs]
    return _all(decoded, ends)


async def run_chunk_coroutine(handler: Handler, contexts: list[Context]) -> list[Ended]:
    """The same for an async handler."""
    import asyncio

    decoded = [_decoded(handler, context) for context in contexts]
    jobs = [job for end, job in decoded if end is None]
    ends: list[Ended] = []
    if jobs:
        try:
            # Then all of them are over, whose deadlines differ by the microseconds between their beginnings.
            async with asyncio.timeout(max(context.seconds_left for context in contexts)):
                ends = _outcomes(
                    await async_around_chunk(
                        handler.middleware, _contexts(jobs), lambda: handler.function([*jobs])), jobs)
        except asyncio.CancelledError as error:
            ends = [cancelled(error, job.context) for job in jobs]
        except BaseException as error:
            ends = [_failed(error, job.context) for job in jobs]
    return _all(decoded, ends)


def _decoded(handler: Handler, context: Context) -> _Decoded:
    try:
        return None, ChunkJob(handler.decoded(context.job.payload), context)
    except BaseException as error:
        return _failed(error, context), ChunkJob(None, context)


def _contexts(jobs: list[ChunkJob[Any]]) -> list[Context]:
    return [job.context for job in jobs]


def _outcomes(result: Any, jobs: list[ChunkJob[Any]]) -> list[Ended]:
    """The ends that a handler has returned."""
    if result is None:
        return [returned(None) for _ in jobs]
    if not isinstance(result, list | tuple) or len(result) != len(jobs):
        got = len(result) if isinstance(result, list | tuple) else type(result).__name__
        unfit = Permanent(f"chunk: expected None, or a list with an outcome for each of {len(jobs)} jobs, got {got}")
        return [_failed(unfit, job.context) for job in jobs]
    return [
        _failed(one, job.context) if isinstance(one, BaseException) else returned(one)
        for one, job in zip(result, jobs, strict=True)
    ]


def _failed(error: BaseException, context: Context) -> Ended:
    end = raised(error, context)
    log_failure(error, context, end)
    return end


def _all(decoded: list[_Decoded], ends: list[Ended]) -> list[Ended]:
    """The ends of all jobs in their order, from those of the jobs that the handler got."""
    rest = iter(ends)
    return [end_of(job.context, next(rest) if end is None else end) for end, job in decoded]
