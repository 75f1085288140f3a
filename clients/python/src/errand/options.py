"""The options of an enqueue, for type checkers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from .batches import Batch
    from .jobs import Enqueued


class EnqueueOptions(TypedDict, total=False):
    """errand.enqueue explains each. `delay` is a time from now, in seconds or as a timedelta, in place of run_at."""

    queue: str
    run_at: datetime
    delay: float | timedelta
    priority: int
    max_attempts: int
    unique_key: str
    on_conflict: str
    not_after: datetime
    limit_key: str
    rate_key: str
    guard: str
    tags: Sequence[str]
    subject: str
    traceparent: str
    follow: bool
    after: Sequence[int | Enqueued]
    if_parent_fails: str
    unique_for: float | timedelta
    unique_while: str
    no_later_than: float | timedelta
    order_key: str
    if_head_fails: str
    batch: int | Batch


class ScheduleOptions(TypedDict, total=False):
    """errand.put_schedule explains each."""

    time_zone: str
    missed: str
    queue: str
    max_lateness: timedelta
    max_catch_up: int
    priority: int
    tags: Sequence[str]
    limit_key: str
    subject: str
    overlap: str
    jitter: timedelta
    starts_at: datetime
    ends_at: datetime
