"""The digest of an image; docs/digest.md defines it."""

import hashlib
import struct
from collections.abc import Callable, Collection, Iterable, Iterator
from operator import add, attrgetter, sub
from typing import Any, get_args, get_type_hints

import msgspec

from records.base import Uuid
from records.text import bytes_text, uuid_text
from replay.image.metadata import MetadataImage
from replay.image.parts import PARTS, Part

_LANES = struct.Struct(">4Q")
_LANE_MODULUS = 1 << 64
_CACHE_SIZE_MAX = 65_536

FIRST_PARTS = frozenset(
    {
        *("acls", "brokers", "client_quotas", "configs", "controllers", "delegation_tokens"),
        *("features", "namespaces", "notes", "partitions", "pending_partition_removals"),
        *("producer_ids", "replica_deletions", "scram", "topics", "zk_migration"),
    }
)
"""Parts with a line in every digest; parts of later releases have a line only if not empty."""


class PartDigest(msgspec.Struct, frozen=True, gc=False):
    """Digest of one part: the number of rows and the sum of their SHA-256 hashes.

    The sum has four lanes: each hash is split into four 64-bit words, summed modulo 2^64.
    """

    count: int
    lanes: tuple[int, int, int, int]

    def __add__(self, other: "PartDigest") -> "PartDigest":
        """Return the digest of the rows of `self` and `other` together."""
        return _part_digest(self.count + other.count, map(add, self.lanes, other.lanes))

    def __sub__(self, other: "PartDigest") -> "PartDigest":
        """Return the digest of the rows of `self` without those of `other`.

        `self` must include all rows of `other`.
        """
        return _part_digest(self.count - other.count, map(sub, self.lanes, other.lanes))


def image_digest(image: MetadataImage) -> str:
    """Return the digest of a whole image: O(objects)."""
    return digest_of_parts(part_digests(image))


def part_digests(image: MetadataImage) -> dict[str, PartDigest]:
    """Return the digest of every part, including empty parts, sorted by part name."""
    return {part: digest_of_rows(rows(image)) for part, rows in PART_ROWS.items()}


def digest_of_parts(parts: dict[str, PartDigest]) -> str:
    """Combine the digests of the parts into the digest of the image."""
    lines = [
        f"{part} {parts[part].count} {' '.join(map(str, parts[part].lanes))}\n"
        for part in sorted(parts)
        if part in FIRST_PARTS or parts[part].count
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def digest_of_rows(rows: Iterable[str]) -> PartDigest:
    """Return the digest of rows given as texts; their order does not matter."""
    count = lane_0 = lane_1 = lane_2 = lane_3 = 0
    sha256, unpack = hashlib.sha256, _LANES.unpack
    for row in rows:
        word_0, word_1, word_2, word_3 = unpack(sha256(row.encode()).digest())
        count += 1
        lane_0 += word_0
        lane_1 += word_1
        lane_2 += word_2
        lane_3 += word_3
    return _part_digest(count, (lane_0, lane_1, lane_2, lane_3))


def _part_digest(count: int, lanes: Iterable[int]) -> PartDigest:
    first, second, third, fourth = (lane % _LANE_MODULUS for lane in lanes)
    return PartDigest(count, (first, second, third, fourth))


def _text(value: str | None) -> str:
    return "-" if value is None else f"{len(value.encode())}:{value}"


class _IntItems(dict[int, str]):
    """Encodes integers as digest items; caches the small ones."""

    def __missing__(self, value: int) -> str:
        item = _text(str(value))
        if -1 <= value < 1_000:
            self[value] = item
        return item


class _IdItems(dict[Uuid | None, str]):
    """Encodes ids as digest items; cached, because ids of topics and log directories repeat."""

    def __missing__(self, value: Uuid | None) -> str:
        if len(self) >= _CACHE_SIZE_MAX:
            self.clear()
        text = self[value] = "-" if value is None else f"22:{uuid_text(value)}"
        return text


class _ListItems(dict[tuple[Any, ...], str]):
    """Encodes lists of integers or ids as digest items; cached, because replica lists repeat."""

    def __init__(self, item: Callable[[Any], str], key: Callable[[Any], Any] | None = None) -> None:
        self._item, self._key = item, key

    def __missing__(self, values: tuple[Any, ...]) -> str:
        if len(self) >= _CACHE_SIZE_MAX:
            self.clear()
        text = self[values] = _list([self._item(value) for value in self._ordered(values)])
        return text

    def _ordered(self, values: tuple[Any, ...]) -> Iterable[Any]:
        return values


class _SetItems(_ListItems):
    """Encodes lists whose order has no meaning as digest items."""

    def _ordered(self, values: tuple[Any, ...]) -> Iterable[Any]:
        return sorted(values, key=self._key)


_INTS = _IntItems()
_int = _INTS.__getitem__
_id = _IdItems().__getitem__
_INT_LISTS, _ID_LISTS = _ListItems(_int), _ListItems(_id)
_LISTS = {int: _INT_LISTS.__getitem__, Uuid: _ID_LISTS.__getitem__}
_SETS = {int: _SetItems(_int).__getitem__, Uuid: _SetItems(_id, uuid_text).__getitem__}


def _bool(value: bool) -> str:
    return "1:1" if value else "1:0"


def _bytes(value: bytes) -> str:
    return _text(bytes_text(value))


def _double(value: float) -> str:
    (bits,) = struct.unpack(">q", struct.pack(">d", value))
    return _int(bits)


def _list(items: list[str]) -> str:
    return _int(len(items)) + "".join(items)


_Item = Callable[[Any], str]

_ITEMS: dict[Any, _Item] = {
    int: _int,
    bool: _bool,
    str: _text,
    str | None: _text,
    Uuid: _id,
    Uuid | None: _id,
    bytes: _bytes,
    float: _double,
}


def _item(hint: Any, *, is_unordered: bool = False) -> _Item:
    """Return the function that encodes a field of type `hint` as a digest item."""
    if hint in _ITEMS:
        return _ITEMS[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _joined_items(hint, hint.__struct_fields__)
    element, *others = get_args(hint)
    if others != [...]:
        return _pair(*map(_item, get_args(hint)))
    return _items(element, is_unordered=is_unordered)


def _items(element: Any, *, is_unordered: bool) -> _Item:
    """Return the function that encodes a list of `element` as a digest item.

    Structures in a list are sorted by their first field.
    """
    cached = _SETS if is_unordered else _LISTS
    if element in cached:
        return cached[element]
    item = _item(element)
    if isinstance(element, type) and issubclass(element, msgspec.Struct):
        # Strings compare by code point, which is the order of their UTF-8 bytes.
        by_first = attrgetter(element.__struct_fields__[0])
        return lambda values: _list([item(value) for value in sorted(values, key=by_first)])
    if is_unordered:
        return lambda values: _list([item(value) for value in sorted(values)])
    return lambda values: _list([item(value) for value in values])


def _pair(first: _Item, second: _Item) -> _Item:
    return lambda pair: first(pair[0]) + second(pair[1])


def _joined_items(
    type_: type[msgspec.Struct],
    names: Iterable[str],
    unordered: Collection[str] = (),
    later: Collection[str] = (),
) -> _Item:
    """Return a function that encodes the named fields of an object and joins the items."""
    hints = get_type_hints(type_)
    # Compiled, because most of an image's rows are alike: half the time of a loop over the fields.
    items: dict[str, Any] = {
        f"{name}_item": _item(hints[name], is_unordered=name in unordered) for name in names
    }
    items |= {f"{name}_item": _unless_empty(items[f"{name}_item"]) for name in later}
    calls = "".join(f"{{{name}_item(value.{name})}}" for name in names)
    exec(f"def join(value): return f'{calls}'", items)
    join: _Item = items["join"]
    return join


def _unless_empty(item: _Item) -> _Item:
    return lambda values: item(values) if values else ""


def row_text(part: Part) -> Callable[[Any], str]:
    """Return the function that encodes a row of a part as text."""
    names = [name for name in part.row_type.__struct_fields__ if name not in part.beside]
    head, items = _text(part.name), _joined_items(part.row_type, names, part.unordered, part.later)
    return lambda row: head + items(row)


def _rows_of(part: Part) -> Callable[[MetadataImage], Iterator[str]]:
    text = row_text(part)
    return lambda image: map(text, part.rows(image))


def _partition_rows(image: MetadataImage) -> Iterator[str]:
    """Yield the texts of all partitions.

    The texts equal those of `row_text` but take half the time: nearly all rows of an image are
    partitions, most ISRs equal the replicas, and most of the other lists are empty.
    """
    ints, lists, id_lists, no_items = _INTS, _INT_LISTS, _ID_LISTS, _int(0)
    head = _text("partitions")
    for entry in image.topic_entries():
        head_of_topic = head + _id(entry.topic.topic_id)
        for value in entry.partitions:
            replicas = _replicas(value.replicas)
            isr = replicas if value.isr == value.replicas else _replicas(value.isr)
            removing, adding = value.removing_replicas, value.adding_replicas
            elr, last_known_elr = value.eligible_leader_replicas, value.last_known_elr
            yield (
                f"{head_of_topic}{ints[value.partition_id]}{replicas}{isr}"
                f"{lists[removing] if removing else no_items}"
                f"{lists[adding] if adding else no_items}"
                f"{ints[value.leader]}{ints[value.leader_recovery_state]}"
                f"{ints[value.leader_epoch]}{ints[value.partition_epoch]}"
                f"{id_lists[value.directories] if value.directories else no_items}"
                f"{lists[elr] if elr else no_items}"
                f"{lists[last_known_elr] if last_known_elr else no_items}"
                f"{ints[value.mode]}"
            )


def _replicas(values: tuple[int, ...]) -> str:
    if len(values) != 3:
        return _INT_LISTS[values]
    # Most partitions have three, in so many orders that a cache is slower than writing them.
    first, second, third = values
    return f"1:3{_INTS[first]}{_INTS[second]}{_INTS[third]}"


PART_ROWS = {name: _rows_of(PARTS[name]) for name in sorted(PARTS)} | {
    "partitions": _partition_rows
}
"""For each part, sorted by name, a function that yields the texts of the part's rows."""
