"""Errors of Errand, by their SQLSTATE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .jobs import EndedJob


class ErrandError(Exception):
    """What the database refused, with its SQLSTATE. The message says what was expected and what came."""

    sqlstate = ""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message} ({hint})")
        self.message = message
        self.hint = hint


class NotFound(ErrandError):
    """What the call names doesn't exist."""

    sqlstate = "ER404"


class Conflict(ErrandError):
    """Another login has it, or an unfinished job has the unique key."""

    sqlstate = "ER409"


class TooLarge(ErrandError):
    """A payload or an output has more than 256 KB as text."""

    sqlstate = "ER413"


class NotAdopted(ErrandError):
    """The database is a copy of another, and nobody has said that it is to run jobs."""

    sqlstate = "ER421"


class Invalid(ErrandError):
    """An argument is out of its bounds."""

    sqlstate = "ER422"


class JobFailed(ErrandError):
    """A job whose result was waited for has ended, but not succeeded."""

    def __init__(self, end: EndedJob) -> None:
        super().__init__(f"job {end.id} {end.state}: {end.error or 'no reason given'}")
        self.end = end


BY_SQLSTATE = {error.sqlstate: error for error in (NotFound, Conflict, TooLarge, NotAdopted, Invalid)}


def typed(error: BaseException) -> ErrandError | None:
    """The error of Errand that a driver's error carries, if any.

    SQLAlchemy has the driver's error as `orig`, Django as its cause.
    """
    seen: BaseException | None = error
    while seen is not None:
        kind = BY_SQLSTATE.get(getattr(seen, "sqlstate", None) or getattr(seen, "pgcode", None) or "")
        if kind is not None:
            diag = getattr(seen, "diag", None)
            message = getattr(diag, "message_primary", None) or getattr(seen, "message", None) or str(seen)
            return kind(message, getattr(diag, "message_hint", None) or getattr(seen, "hint", None))
        seen = getattr(seen, "orig", None) or seen.__cause__
    return None


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raises errors of Errand in place of a driver's."""
    try:
        yield
    except ErrandError:
        raise
    except Exception as error:
        found = typed(error)
        if found is None:
            raise
        raise found from error
