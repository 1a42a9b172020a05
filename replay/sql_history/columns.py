"""Columns: how the fields of an object are stored in SQL, and read back without loss.

Ids are stored as texts of 22 characters, other bytes as base64, lists and structures as JSON;
PostgreSQL has own types for some of them (`types`). A float has a second column with its bits,
because SQLite preserves neither NaN nor the sign of zero.
"""

import json
import struct
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b, sha256
from types import UnionType
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Boolean, Column, Double, String, Text
from sqlalchemy.types import TypeEngine

from records.base import Uuid
from records.text import bytes_text, parse_bytes, parse_uuid, uuid_text
from replay.image.versions import UNKNOWN
from replay.sql_history.known_values import Convert, cached
from replay.sql_history.types import ID, IDS, INT32, JSON, NUMBERS

BITS = "_bits"


class Form(msgspec.Struct, frozen=True):
    """How values of one Python type are stored: the column's type, and both conversions.

    A column without `load` is derived from others, and is not read back.
    """

    type: TypeEngine[Any]
    nullable: bool
    store: Convert
    load: Convert | None


class FieldColumn(msgspec.Struct, frozen=True):
    """A column and the object's field that it stores. A field of type float has two columns."""

    name: str
    field: str
    form: Form

    @property
    def source(self) -> str:
        """Python expression for the value to store, where `value` is the object."""
        return f"value.{self.field}"

    def column(self, comment: str, type_: TypeEngine[Any] | None = None) -> Column[Any]:
        """Return a new SQLAlchemy column, of a narrower type if one is given."""
        return Column(
            self.name, type_ or self.form.type, nullable=self.form.nullable, comment=comment
        )


class SharedColumn(FieldColumn, frozen=True):
    """A column that refers to a row of another table with several fields, shared by many states."""

    shared: tuple[FieldColumn, ...]

    @property
    def source(self) -> str:
        """Python expression for a tuple of the fields, where `value` is the object."""
        return "(" + "".join(f"{each.source}, " for each in self.shared) + ")"


def shared_column(name: str, shared: Sequence[FieldColumn]) -> SharedColumn:
    """Return the column that refers to the row with the values of some fields.

    The reference is a hash of the values, so that no writer must look it up. Of a million different
    rows, two have the same hash with a probability of 3 in 10^8; the digest would then differ.
    """
    stores = [each.form.store for each in shared]

    def reference(values: Sequence[Any]) -> int:
        texts = (store(value) for store, value in zip(stores, values, strict=True))
        digest = blake2b("\n".join(texts).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    form = Form(BigInteger(), False, cached(reference), None)
    return SharedColumn(name, name, form, tuple(shared))


def size_column(name: str, field: str) -> FieldColumn:
    """Return the column with the number of items of a list, for conditions in any database."""
    return FieldColumn(name, field, Form(INT32, False, len, None))


def field_columns(cls: type[msgspec.Struct], fields: Iterable[str]) -> list[FieldColumn]:
    """Return the columns of some fields of a structure, in the order of the fields."""
    hints = typing.get_type_hints(cls)
    return [column for name in fields for column in _columns_of(name, hints[name])]


def row_encoder(columns: Sequence[FieldColumn]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that converts an object to a row: the values of its columns."""
    return _compiled("def encode(value): return ({fields})", columns)


def state_encoder(
    columns: Sequence[FieldColumn], more: Iterable[str]
) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that converts a state to a row.

    The row has the columns of the state's `value`, then the attributes `more`.

    Args:
        more: Names of attributes of the state.
    """
    attributes = "".join(f"state.{name}, " for name in more)
    return _compiled(
        f"def encode(state):\n value = state.value\n return ({{fields}}{attributes})", columns
    )


def _compiled(source: str, columns: Sequence[FieldColumn]) -> Callable[[Any], tuple[Any, ...]]:
    """Compile an encoder from its source, for speed: a sync spends much of its time encoding."""
    names: dict[str, Any] = {f"store_{i}": each.form.store for i, each in enumerate(columns)}
    fields = "".join(
        f"{each.source}, " if each.form.store is _same else f"store_{i}({each.source}), "
        for i, each in enumerate(columns)
    )
    exec(source.format(fields=fields), names)
    encode: Callable[[Any], tuple[Any, ...]] = names["encode"]
    return encode


def row_decoder(
    cls: type[msgspec.Struct], columns: Sequence[FieldColumn]
) -> Callable[[Sequence[Any]], Any]:
    """Return a function that creates an object from the values of its columns.

    A float is read from its second column, which has its exact bits. Fields without a column, which
    are not in any digest, are set to UNKNOWN.
    """
    read = {
        each.field: (i, each.form.load)
        for i, each in enumerate(columns)
        if each.form.load is not None
    }
    beside = dict.fromkeys(set(cls.__struct_fields__) - set(read), UNKNOWN)

    def decode(row: Sequence[Any]) -> Any:
        return cls(**{name: load(row[i]) for name, (i, load) in read.items()}, **beside)

    return decode


def _columns_of(name: str, hint: Any) -> Iterator[FieldColumn]:
    if hint is float:
        yield FieldColumn(name, name, _form(hint))
        yield FieldColumn(name + BITS, name, _BITS_FORM)
    else:
        yield FieldColumn(name, name, _form(hint))


def _form(hint: Any) -> Form:
    inner, nullable = _without_none(hint)
    if inner in _SCALARS:
        type_, store, load = _SCALARS[inner]
    else:
        type_ = _LISTS.get(inner, JSON)
        store, load = _json_text(inner), _from_json_text(inner)
    if not nullable:
        return Form(type_, inner is float, store, load)
    return Form(type_, True, _or_none(store), _or_none(load))


def _same(value: Any) -> Any:
    return value


def _or_none(convert: Convert) -> Convert:
    if convert is _same:
        return _same
    return lambda value: None if value is None else convert(value)


def _bits(value: float) -> int:
    (bits,) = struct.unpack(">q", struct.pack(">d", value))
    return int(bits)


def _from_bits(bits: int) -> float:
    (value,) = struct.unpack(">d", struct.pack(">q", bits))
    return float(value)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) in (UnionType, typing.Union):
        (inner,) = (arg for arg in typing.get_args(hint) if arg is not type(None))
        return inner, True
    return hint, False


def _json_text(hint: Any) -> Convert:
    to_json = _to_json(hint)
    return cached(lambda value: json.dumps(to_json(value), ensure_ascii=False))


def _from_json_text(hint: Any) -> Convert:
    from_json = _from_json(hint)
    return lambda text: from_json(json.loads(text))


def _to_json(hint: Any) -> Convert:
    inner, nullable = _without_none(hint)
    if nullable:
        return _or_none(_to_json(inner))
    if inner in _SCALARS:
        return _SCALARS[inner][1]
    if typing.get_origin(inner) is tuple:
        items = _items(inner, _to_json)
        return lambda values: [item(each) for item, each in zip(items(values), values, strict=True)]
    fields = {name: _to_json(each) for name, each in typing.get_type_hints(inner).items()}
    return lambda value: {name: item(getattr(value, name)) for name, item in fields.items()}


def _from_json(hint: Any) -> Convert:
    inner, nullable = _without_none(hint)
    if nullable:
        return _or_none(_from_json(inner))
    if inner in _SCALARS:
        return _SCALARS[inner][2]
    if typing.get_origin(inner) is tuple:
        items = _items(inner, _from_json)
        return lambda values: tuple(
            item(each) for item, each in zip(items(values), values, strict=True)
        )
    fields = {name: _from_json(each) for name, each in typing.get_type_hints(inner).items()}
    return lambda value: inner(**{name: item(value[name]) for name, item in fields.items()})


def _items(hint: Any, convert: Callable[[Any], Convert]) -> Callable[[Any], list[Convert]]:
    """Return a function that converts each item of a tuple, and returns the results as a list."""
    args = typing.get_args(hint)
    if args[-1] is Ellipsis:
        item = convert(args[0])
        return lambda values: [item] * len(values)
    fixed = [convert(arg) for arg in args]
    return lambda values: fixed


_SCALARS: dict[Any, tuple[TypeEngine[Any], Convert, Convert]] = {
    int: (BigInteger(), _same, _same),
    bool: (Boolean(), _same, bool),
    str: (Text(), _same, _same),
    float: (Double(), _same, _same),
    Uuid: (ID, cached(uuid_text), parse_uuid),
    bytes: (Text(), bytes_text, parse_bytes),
}
_LISTS: dict[Any, TypeEngine[Any]] = {tuple[int, ...]: NUMBERS, tuple[Uuid, ...]: IDS}
SHA256_FORM = Form(String(64), False, lambda text: sha256(text.encode()).hexdigest(), None)
_BITS_FORM = Form(BigInteger(), False, _bits, _from_bits)
