"""Calls of SQL functions, in the placeholders of each driver."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

from .errors import typed_errors

Row = Sequence[Any]


@dataclass(frozen=True)
class Call:
    """One call of a SQL function. Arguments are sent as text, or as a list for an array, and cast by the server: each
    driver has ideas of its own about JSON and times."""

    function: str
    columns: str
    arguments: dict[str, tuple[str, Any]]

    def text(self, placeholder: Callable[[int], str]) -> str:
        given = ", ".join(
            f"{name} => " + _cast(placeholder(number), type_)
            for number, (name, (type_, _)) in enumerate(self.arguments.items(), 1)
        )
        return f"select {self.columns} from {self.function}({given})"

    @property
    def values(self) -> list[Any]:
        return [as_argument(value) for _, value in self.arguments.values()]


def _cast(placeholder: str, type_: str) -> str:
    if type_.endswith("[]"):
        return f"cast({placeholder} as {type_})"
    return f"cast(cast({placeholder} as text) as {type_})"


def as_argument(value: Any) -> Any:
    match value:
        case None | str() | list():
            return value
        case bool():
            return "true" if value else "false"
        case datetime():
            if value.tzinfo is None:
                raise ValueError(f"expected a time with a time zone, got {value!r}")
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():.6f} s"
        case _:
            return str(value)


def as_json(value: Any, what: str = "payload") -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what}: expected a value of JSON, got {type(value).__name__}: {error}") from None


def _plain(value: Any) -> Any:
    """What json can't encode itself."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is not JSON: send it as text or numbers")


def from_json(text: str | None) -> Any:
    """A column of type jsonb, read as text: some drivers decode jsonb themselves, others don't."""
    return None if text is None else json.loads(text)


def _modules(connection: Any) -> set[str]:
    return {base.__module__.partition(".")[0] for base in type(connection).__mro__}


def _check(connection: Any, is_async: bool, takes: str, other: str) -> None:
    """Raises TypeError unless calls can be made on it: what is of the other world, or no connection."""
    modules = _modules(connection)
    has_async = "asyncpg" in modules or inspect.iscoroutinefunction(getattr(connection, "execute", None))
    has_calls = has_async or hasattr(connection, "execute" if "sqlalchemy" in modules else "cursor")
    if has_calls and has_async == is_async:
        return
    hint = f": pass it to {other}" if has_calls else ""
    kind = type(connection)
    raise TypeError(f"connection: expected one of {takes}, got {kind.__module__}.{kind.__qualname__}{hint}")


def run(connection: Any, call: Call) -> list[Row]:
    """Makes the call on a connection of psycopg, SQLAlchemy or Django, in the transaction that it is in."""
    _check(connection, False, "psycopg, SQLAlchemy or Django", "AsyncErrand")
    with typed_errors():
        if "sqlalchemy" in _modules(connection):
            from sqlalchemy import text

            if hasattr(connection, "connection") and hasattr(connection, "flush"):  # a Session
                connection = connection.connection()
            statement = text(call.text(lambda number: f":p{number}"))
            result = connection.execute(statement, {f"p{n}": value for n, value in enumerate(call.values, 1)})
            return [tuple(row) for row in result]
        with connection.cursor() as cursor:
            return _fetch(cursor, call)


def run_again(cursor: psycopg.Cursor, call: Call) -> list[Row]:
    """Makes one of many calls of the same kind. A new cursor would learn anew how to send and read each type, which
    takes 0.27 ms for errand.pull."""
    with typed_errors():
        return _fetch(cursor, call)


def _fetch(cursor: Any, call: Call) -> list[Row]:
    cursor.execute(call.text(lambda _: "%s"), call.values)
    return [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in cursor.fetchall()]


async def run_async(connection: Any, call: Call) -> list[Row]:
    """Makes the call on a connection of psycopg, asyncpg or SQLAlchemy, in the transaction that it is in."""
    _check(connection, True, "async psycopg, asyncpg or async SQLAlchemy", "Errand")
    with typed_errors():
        modules = _modules(connection)
        if "asyncpg" in modules:
            rows = await connection.fetch(call.text(lambda number: f"${number}"), *call.values)
            return [tuple(row) for row in rows]
        if "sqlalchemy" in modules:
            from sqlalchemy import text

            if hasattr(connection, "flush"):  # an AsyncSession
                connection = await connection.connection()
            statement = text(call.text(lambda number: f":p{number}"))
            result = await connection.execute(statement, {f"p{n}": value for n, value in enumerate(call.values, 1)})
            return [tuple(row) for row in result]
        async with connection.cursor() as cursor:
            await cursor.execute(call.text(lambda _: "%s"), call.values)
            return [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in await cursor.fetchall()]
