"""Jobs on PostgreSQL: enqueue in your transaction, wait for results, handle jobs in Python."""

from .attempt import Context, Signal
from .client import AsyncErrand, AsyncJob, Errand, Job
from .errors import Conflict, ErrandError, Invalid, JobFailed, NotAdopted, NotFound, TooLarge
from .handlers import Failure, Handler, Permanent, RetryAfter, Snooze, Stop, Wait
from .jobs import EndedJob, Parent, Reason, Request, Schedule, Status
from .worker import Worker

__all__ = [
    "AsyncErrand", "AsyncJob", "Conflict", "Context", "EndedJob", "Errand", "ErrandError", "Failure", "Handler",
    "Invalid", "Job", "JobFailed", "NotAdopted", "NotFound", "Parent", "Permanent", "Reason", "Request", "RetryAfter",
    "Schedule", "Signal", "Snooze", "Status", "Stop", "TooLarge", "Wait", "Worker",
]
