"""Tokens of records: short hashes of the ids and names by which records are searched for.

A record's tokens are those of its topic's and namespace's ids, and of its names without their
namespaces. Equal values have equal tokens, so a run of blocks without a token has no such record.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

import google_crc32c

from records import registry
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.topics import MoveTopicRecord, NamespaceRecord, TopicRecord

_VALUES_REMEMBERED = 4_096
"""Ids and names whose tokens are kept: runs that follow each other are about the same ones."""

TOKEN_SIZE = 2
"""A run of 8 KiB has some 70 tokens, so one in a thousand runs has a given token by chance."""

NAME_SEPARATOR = ":"

_IDS = ("topic_id", "namespace_id")
_NAMES: dict[type[Record], tuple[str, ...]] = {
    TopicRecord: ("name",),
    MoveTopicRecord: ("name",),
    NamespaceRecord: ("name",),
    ConfigRecord: ("resource_name", "name"),
}


def _values_of(cls: type[Record]) -> Callable[[Record], object]:
    """Return a function that returns a record's ids and names: a tuple, a single one, or None."""
    ids = (name for name in _IDS if name in cls.__struct_fields__)
    fields = (*ids, *_NAMES.get(cls, ()))
    return attrgetter(*fields) if fields else _nothing


def _nothing(_: Record) -> None:
    return None


_VALUES = {cls: _values_of(cls) for cls in registry.RECORD_TYPES}
_BITS: dict[type[Record], int] = {cls: 1 << at for at, cls in enumerate(registry.RECORD_TYPES)}
assert len(_BITS) <= 64, "the types of a run are a number of 64 bits"


def id_token(found: Uuid) -> bytes:
    """Return the token of a topic's or namespace's id."""
    return _hashed(found)


@functools.lru_cache(_VALUES_REMEMBERED)
def name_token(name: str) -> bytes:
    """Return the token of a name; its namespace makes no difference."""
    last = name.rpartition(NAME_SEPARATOR)[-1]
    return _hashed(last.encode("utf-8", "surrogatepass"))


def type_bit(record_type: type[Record]) -> int:
    """Return the bit of a record type."""
    return _BITS[record_type]


def types_of(records: Sequence[Record]) -> int:
    """Return the bits of the records' types."""
    return sum(_BITS[each] for each in set(map(type, records)))


def tokens_of(records: Sequence[Record]) -> bytes:
    """Return the distinct tokens of records, one after the other."""
    # Most records of a run are about the same few topics.
    found = {_VALUES[type(record)](record) for record in records}
    return b"".join(sorted(set(_tokens(found))))


def _tokens(values: Iterable[object]) -> Iterator[bytes]:
    for value in values:
        match value:
            case tuple():
                yield from _tokens(value)
            case str():
                yield name_token(value)
            case bytes():
                yield _hashed(value)


@functools.lru_cache(_VALUES_REMEMBERED)
def _hashed(value: bytes) -> bytes:
    crc32c: int = google_crc32c.value(value)
    return (crc32c & 0xFFFF).to_bytes(TOKEN_SIZE, "big")
