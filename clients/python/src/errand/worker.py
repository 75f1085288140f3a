"""A worker: which kinds it handles, and how it runs them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal

from .handlers import Chunk, Handler
from .jobs import Seconds, interval
from .middleware import Middleware, check_chunks


@dataclass
class Worker:
    """Pulls jobs and runs their handlers.

        worker = Worker()

        @worker.job("send_mail", queue="mail", max_attempts=5, retry=[10, 60, 600], deadline=30)
        def send_mail(payload): ...

    Async handlers run in one event loop. Others run in threads, or with mode "processes" in processes of their own,
    which a deadline or a crash ends alone.
    """

    #: The queues that it pulls from; None = those of its handlers.
    queues: Sequence[str] | None = None
    #: How many async handlers run at once, and how many others.
    concurrency: int = 10
    mode: Literal["threads", "processes"] = "threads"
    #: Without a sign of life for so long, in seconds, the worker is lost and its jobs run elsewhere.
    lease: float = 60
    #: How often it asks for jobs when no notification comes, in seconds.
    poll: float = 1
    #: Whether it also does maintenance and ticks schedules, as each worker does: any number may.
    maintain: bool = True
    #: How long running handlers may go on after a request to stop, in seconds.
    grace: float = 30
    #: Its name for people; None = host:pid.
    name: str | None = None
    #: The port of /metrics and /health; None = none.
    port: int | None = None
    #: The address of that port: others than this machine's need another one, such as 0.0.0.0.
    host: str = "127.0.0.1"
    #: What runs around each handler that it decorates, outermost first.
    middleware: Sequence[Middleware] = ()
    handlers: dict[str, Handler] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    def job(
        self, kind: str, *, queue: str | None = None, max_attempts: int | None = None,
        priority: int | None = None, retry: Sequence[Seconds] | None = None, deadline: Seconds = 60,
    ) -> Callable[[Callable[..., Any]], Handler]:
        """Handles a kind by the decorated function, of (payload) or (payload, context).

        queue, max_attempts and priority are the kind's defaults for an enqueue; None leaves them as they are. After a
        failed attempt the job waits for up to that element of `retry`, in seconds; the last one serves for all later
        attempts. A function whose payload has the type of a dataclass gets one.
        """
        return self._decorator("job", kind, queue, max_attempts, priority, retry, deadline, None)

    def chunk(
        self, kind: str, *, size: int, within: Seconds, by: Callable[[Any], Any] | None = None,
        queue: str | None = None, max_attempts: int | None = None, priority: int | None = None,
        retry: Sequence[Seconds] | None = None, deadline: Seconds = 60,
    ) -> Callable[[Callable[..., Any]], Handler]:
        """Handles many jobs of a kind at once, by the decorated function of (jobs): a list of ChunkJob.

            @worker.chunk("count_view", size=100, within=0.2, by=lambda view: view["page"])
            def count_views(jobs):
                counters.add(len(jobs), to=jobs[0].payload["page"])

        It gets jobs that this worker has pulled: at most `size`, 1 to 1000, all with the same key by `by`. That many
        begin at once, fewer when the first of them has waited for `within`, up to a minute. `by` is asked for each
        payload when its job is pulled, so it has to be fast.

        The function returns None if all jobs have succeeded, or a list with an element for each job in their order: its
        output, or an instance of an exception that it would raise for it. What it raises counts for all jobs. Another
        number of elements fails all of them for good.

        The other options are those of `job`. The deadline begins with the chunk. A function whose argument has the type
        list[ChunkJob[View]] gets payloads of the dataclass View.
        """
        chunk = Chunk.of(size, within, by)
        return self._decorator("chunk", kind, queue, max_attempts, priority, retry, deadline, chunk)

    def _decorator(
        self, name: str, kind: str, queue: str | None, max_attempts: int | None, priority: int | None,
        retry: Sequence[Seconds] | None, deadline: Seconds, chunk: Chunk | None,
    ) -> Callable[[Callable[..., Any]], Handler]:
        if not isinstance(kind, str):
            raise TypeError(f'{name}: expected a kind, as in @worker.{name}("send_mail"), got {kind!r}')
        if isinstance(retry, str | float | int | timedelta):
            raise TypeError(f"retry: expected a list of delays, got {retry!r}")
        if interval(deadline) <= timedelta(0):
            raise ValueError(f"deadline: expected more than 0, got {deadline!r}")

        def decorate(function: Callable[..., Any]) -> Handler:
            if kind in self.handlers:
                raise ValueError(f"{kind}: expected one handler, got another: {function.__qualname__}")
            handler = Handler.of(function, kind, queue, max_attempts, priority, retry, deadline, chunk)
            handler = replace(handler, middleware=self.middleware)
            self.handlers[kind] = handler
            return handler

        return decorate

    def failed(self, handler: Handler) -> Callable[[Callable[..., Any]], Handler]:
        """Tells the decorated function, of (failure) or (failure, context), of each failure of the handler's jobs: when
        no attempt is left, or none would help.

        It runs in a job of its own, which is enqueued in the transaction that records the failure.
        If that job fails itself, nothing more follows.
        """

        def decorate(function: Callable[..., Any]) -> Handler:
            decorated = self.job(
                handler.for_failures, queue=handler.queue, priority=handler.priority, retry=handler.retry,
                deadline=handler.deadline, max_attempts=handler.max_attempts,
            )(function)
            told = replace(decorated, is_for_failures=True, payload_type=handler.payload_type)
            self.handlers[told.kind] = told
            return told

        return decorate

    def check(self) -> None:
        """Raises ValueError or TypeError for what a worker can't run with."""
        if not self.handlers:
            raise ValueError("worker: expected a handler at least, got none")
        if isinstance(self.queues, str):
            raise TypeError(f"queues: expected a list of names, got {self.queues!r}")
        if self.concurrency < 1:
            raise ValueError(f"concurrency: expected at least 1, got {self.concurrency}")
        if self.mode not in ("threads", "processes"):
            raise ValueError(f"mode: expected threads or processes, got {self.mode!r}")
        if not 1 <= self.lease <= 3600:
            raise ValueError(f"lease: expected 1 to 3600 s, got {self.lease}")
        if self.poll <= 0:
            raise ValueError(f"poll: expected more than 0 s, got {self.poll}")
        if self.grace < 0:
            raise ValueError(f"grace: expected at least 0 s, got {self.grace}")
        for handler in self.handlers.values():
            if handler.chunk is not None:
                check_chunks(handler.middleware, handler.kind, handler.is_async)

    def run(self, conninfo: str = "") -> None:
        """Runs until SIGTERM, SIGINT or `stop`. In the main thread it handles these signals; a second one ends it at
        once. It may run again afterwards.

        While the database can't be reached, it waits. Raises ValueError, TypeError or an error of psycopg if it can't
        start: an option is out of bounds, the schema is missing, or the login has no rights.
        """
        from .engine import Engine

        engine = Engine(self, conninfo, self._stop)
        before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                before[number] = signal.signal(
                    number, lambda *_: engine.force() if self._stop.is_set() else self._stop.set()
                )
        try:
            engine.run()
        finally:
            self._stop.clear()
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self) -> None:
        """Stops it gracefully: it pulls no more, and hands back what has not begun."""
        self._stop.set()
