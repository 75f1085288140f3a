"""A worker: which kinds it handles, and how it runs them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .handlers import Handler
from .jobs import Seconds


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
    #: The port of /metrics and /health on this machine; None = none.
    port: int | None = None
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

        def decorate(function: Callable[..., Any]) -> Handler:
            if kind in self.handlers:
                raise ValueError(f"{kind}: expected one handler, got another: {function.__qualname__}")
            handler = Handler.of(function, kind, queue, max_attempts, priority, retry, deadline)
            self.handlers[kind] = handler
            return handler

        return decorate

    def run(self, conninfo: str = "") -> None:
        """Runs until SIGTERM, SIGINT or `stop`. In the main thread it handles these signals; a second one ends it at
        once. It may run again afterwards."""
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
