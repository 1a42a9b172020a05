"""Column types: PostgreSQL's own, and portable ones in other databases.

In Python, values have the form that SQLite stores: ids and JSON are texts, times are milliseconds
since 1970. `Native` converts values written to PostgreSQL, the loaders convert values read from it.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Engine, Integer, String, Text, event
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine, UserDefinedType

from records.errors import RequestError
from records.text import parse_uuid, uuid_text
from replay.sql_history.known_values import cached

Convert = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Native(UserDefinedType[Any]):
    """A column type of PostgreSQL, and the conversion of values written to such a column.

    Attributes:
        spec: The type's name in SQL.
        write: Converts a value (never None) to text that PostgreSQL reads as this type.
    """

    cache_ok = True

    def __init__(self, spec: str, write: Convert) -> None:
        self.spec = spec
        self.write = write

    def get_col_spec(self, **_: Any) -> str:
        """Return the type's name."""
        return self.spec

    def bind_processor(self, dialect: Dialect) -> Convert:
        """Return the conversion of a value that may be None."""
        return lambda value: None if value is None else self.write(value)


def native(type_: TypeEngine[Any], dialect: Dialect) -> Native | None:
    """Return the PostgreSQL type that converts a column's values; None if none are converted."""
    found = type_.dialect_impl(dialect)
    return found if isinstance(found, Native) else None


def _uuid(text: str) -> str:
    return str(UUID(bytes=parse_uuid(text)))


def _uuid_array(text: str) -> str:
    return "{" + ",".join(map(_uuid, json.loads(text))) + "}"


def _array(text: str) -> str:
    return "{" + text[1:-1] + "}"


def _timestamp(time_ms: int) -> str:
    try:
        return (_EPOCH + time_ms * _MILLISECOND).isoformat()
    except OverflowError:
        raise RequestError(
            "INVALID_REQUEST",
            f"a time in the log, {time_ms} ms since 1970, is not in the years 1 to 9999 and cannot "
            "be kept in PostgreSQL; sync into SQLite",
        ) from None


def _variant(portable: TypeEngine[Any], own: TypeEngine[Any]) -> TypeEngine[Any]:
    return portable.with_variant(own, "postgresql")


ID = _variant(String(22), Native("UUID", cached(_uuid)))
TIME = _variant(BigInteger(), Native("TIMESTAMP WITH TIME ZONE", cached(_timestamp)))
JSON = _variant(Text(), Native("JSONB", lambda text: text))
NUMBERS = _variant(Text(), Native("INTEGER[]", _array))
IDS = _variant(Text(), Native("UUID[]", _uuid_array))
INT32 = _variant(BigInteger(), Integer())


def load_portable_values(engine: Engine) -> None:
    """Make an engine read PostgreSQL's ids, times, lists and JSON in the form SQLite has."""
    if engine.dialect.name == "postgresql":
        event.listen(engine, "connect", _register_loaders)


def _register_loaders(connection: Any, _entry: object) -> None:
    from psycopg.adapt import Loader
    from psycopg.types.datetime import TimestamptzLoader

    id_text = cached(lambda text: uuid_text(UUID(text).bytes))

    class Ids(Loader):
        def load(self, data: Any) -> str:
            return str(id_text(bytes(data).decode()))

    class IdArrays(Loader):
        def load(self, data: Any) -> str:
            items = bytes(data)[1:-1].decode()
            return json.dumps([id_text(each) for each in items.split(",") if each])

    class Arrays(Loader):
        def load(self, data: Any) -> str:
            return "[" + bytes(data)[1:-1].decode().replace(",", ", ") + "]"

    class Texts(Loader):
        def load(self, data: Any) -> str:
            return bytes(data).decode()

    class Times(TimestamptzLoader):
        def load(self, data: Any) -> int:  # type: ignore[override]
            return (super().load(data) - _EPOCH) // _MILLISECOND

    adapters = connection.adapters
    for name, loader in {"uuid": Ids, "jsonb": Texts, "timestamptz": Times}.items():
        adapters.register_loader(name, loader)
    for name, loader in {"uuid": IdArrays, "int4": Arrays}.items():
        adapters.register_loader(adapters.types[name].array_oid, loader)
