"""Jobs on PostgreSQL: enqueue in your transaction, wait for results, handle jobs in Python."""

from .attempt import Context, Signal
from .batches import Batch, BatchStatus
from .client import AsyncErrand, AsyncJob, Errand, Job
from .encryption import PayloadEncryption, PayloadKeys
from .errors import Conflict, ErrandError, Invalid, JobFailed, NotAdopted, NotFound, TooLarge
from .handlers import ChunkJob, Failure, Handler, Permanent, RetryAfter, Snooze, Stop, Wait
from .jobs import EndedJob, Parent, Reason, Request, Schedule, Status
from .middleware import Middleware
from .worker import Worker

__all__ = [
    "AsyncErrand", "AsyncJob", "Batch", "BatchStatus", "ChunkJob", "Conflict", "Context", "EndedJob", "Errand",
    "ErrandError", "Failure", "Handler", "Invalid", "Job", "JobFailed", "Middleware", "NotAdopted", "NotFound",
    "Parent", "PayloadEncryption", "PayloadKeys", "Permanent", "Reason", "Request", "RetryAfter", "Schedule",
    "Signal", "Snooze", "Status", "Stop", "TooLarge", "Wait", "Worker",
]
