"""Whether a new version's handlers can read the payloads that are there: before it is deployed."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from .connections import connect
from .handlers import Handler, Permanent

PAGE = 200
#: The ids come first, so that a payload is read only for a row of the page.
_PAGE = """
    select id, kind, created_at, payload::text
    from errand.jobs
    where kind = any (%s) and id > %s and state in ('scheduled', 'available', 'parked', 'running', 'failed')
    order by id
    limit %s
    """


@dataclass
class Unreadable:
    """Jobs of a kind whose payloads don't fit its handler, all for the same reason."""

    kind: str
    #: Which field is wrong, and what was expected there. It has nothing of the payload but the names of fields.
    reason: str
    jobs: int
    #: One of them, the one with the lowest id.
    example: int
    #: When the oldest and the newest were enqueued.
    oldest: datetime
    newest: datetime

    def __str__(self) -> str:
        time = self.oldest.isoformat(timespec="seconds")
        if self.newest != self.oldest:
            time += f" to {self.newest.isoformat(timespec='seconds')}"
        return f"{self.kind}: {self.jobs} of {time}, such as job {self.example}: {self.reason}"


def read_payloads(conninfo: str, handlers: Mapping[str, Handler]) -> tuple[int, list[Unreadable]]:
    """Decodes the payloads of all unfinished and failed jobs of these kinds, as their runs would. Returns how many
    there are, and what doesn't fit.

    Locks nothing. Raises PermissionError for a login that may not read payloads: it needs errand_ops.
    """
    read = 0
    found: dict[tuple[str, str], Unreadable] = {}
    with connect(conninfo, "errand doctor") as connection:
        connection.execute("set statement_timeout = 0")
        if connection.execute("select errand_internal.sees_content()").fetchone() != (True,):
            raise PermissionError("expected a login that reads payloads, a member of errand_ops, got another")
        for id, kind, created_at, text in _rows(connection, sorted(handlers)):
            if text is None:  # deleted since
                continue
            read += 1
            reason = problem(handlers[kind], json.loads(text))
            if reason is None:
                continue
            group = found.setdefault((kind, reason), Unreadable(kind, reason, 0, id, created_at, created_at))
            group.jobs += 1
            group.oldest, group.newest = min(group.oldest, created_at), max(group.newest, created_at)
    return read, [found[key] for key in sorted(found)]


def _rows(connection: psycopg.Connection, kinds: list[str]) -> Iterator[Any]:
    last = -(2**63)
    while True:
        rows = connection.execute(_PAGE, [kinds, last, PAGE]).fetchall()
        yield from rows
        if len(rows) < PAGE:
            return
        last = rows[-1][0]


def problem(handler: Handler, payload: Any) -> str | None:
    """What is wrong with a stored payload; None if it fits."""
    if handler.is_for_failures:
        own = dataclasses.replace(handler, kind=payload["kind"], is_for_failures=False)
        return problem(own, payload["payload"])
    try:
        plain = handler.plain(payload)
    except Permanent as error:
        return str(error)
    except Exception as error:
        return f"payload: {type(error).__name__}"
    return _misfit_of_type(handler.payload_type, plain) or _without_key(handler, payload)


def _misfit_of_type(expected: Any, plain: Any) -> str | None:
    if expected is None:
        return None
    if (hook := getattr(expected, "from_payload", None)) is not None:
        return _of_hook(hook, plain)
    return misfit(expected, plain, "")


def _without_key(handler: Handler, payload: Any) -> str | None:
    """Whether a handler of many jobs at once finds no key in a payload: then that job fails."""
    if handler.chunk is None or handler.chunk.by is None:
        return None
    try:
        hash(handler.chunk.by(handler.decoded(payload)))
    except Exception as error:
        return f"by: {type(error).__name__}"
    return None


def _of_hook(hook: Callable[[Any], Any], payload: Any) -> str | None:
    try:
        hook(payload)
    except Exception as error:  # its text may quote the payload
        return f"payload: {type(error).__name__}"
    return None


def misfit(expected: Any, value: Any, path: str) -> str | None:
    """Where a value of JSON isn't of a type, and what was expected there. A type that JSON doesn't know fits all."""
    origin, parts = typing.get_origin(expected), typing.get_args(expected)
    if dataclasses.is_dataclass(expected):
        return _misfit_fields(expected, value, path)
    if origin in (typing.Union, types.UnionType):
        return None if any(misfit(part, value, path) is None for part in parts) else _at(path, expected)
    if origin is typing.Literal:
        return None if value in parts else _at(path, expected, "another value")
    if origin is typing.Annotated:
        return misfit(parts[0], value, path)
    plain = expected if origin is None else origin
    if plain not in _SHAPES:
        return None
    if not _SHAPES[plain](value):
        return _at(path, expected)
    if parts and plain is list:
        return next(filter(None, (misfit(parts[0], one, f"{path}[{n}]") for n, one in enumerate(value))), None)
    if len(parts) == 2 and plain is dict:
        return next(filter(None, (misfit(parts[1], one, f"{path}.*".strip(".")) for one in value.values())), None)
    return None


_SHAPES: dict[Any, Callable[[Any], bool]] = {
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    list: lambda value: isinstance(value, list),
    dict: lambda value: isinstance(value, dict),
    type(None): lambda value: value is None,
    None: lambda value: value is None,
}


def _misfit_fields(expected: Any, value: Any, path: str) -> str | None:
    if not isinstance(value, dict):
        return _at(path, expected)
    fields = {field.name: field for field in dataclasses.fields(expected) if field.init}
    # Only the payload itself becomes an instance of its class; objects within stay as they are.
    if not path and (unknown := [name for name in value if name not in fields]):
        return f"{unknown[0]}: expected no such field"
    try:
        hints = typing.get_type_hints(expected)
    except Exception:  # a name for type checkers alone
        hints = {}
    for name, field in fields.items():
        here = f"{path}.{name}".strip(".")
        if name in value:
            if (wrong := misfit(hints.get(name, Any), value[name], here)) is not None:
                return wrong
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            return f"{here}: expected a value, got none"
    return None


def _at(path: str, expected: Any, got: str = "another type") -> str:
    name = expected.__name__ if isinstance(expected, type) and not typing.get_args(expected) else str(expected)
    return f"{path or 'payload'}: expected {name.replace('typing.', '')}, got {got}"
