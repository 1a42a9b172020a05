"""Records of a log that this release does not understand, found without building an image."""

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from metadata_log.format.manifest import Kind
from metadata_log.format.needles import Needles
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    UnknownRecord,
)
from records.envelope import Envelope, UnknownTag
from replay.image.provenance import NotUnderstood, has_unknown_tags
from replay.image.versions import UNKNOWN
from replay.loader import BatchSource
from replay.time_travel.skim import effective_batches

if TYPE_CHECKING:
    from records.kafka.tables import Tables

_Kind = tuple[str, int, int | None, str | None]
"""Type, version, tag and path, as in `UnknownKind`."""

_TYPES = (
    UnknownRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
)


def count_not_understood(
    source: BatchSource, at: int, *, from_offset: int = 0
) -> NotUnderstood | None:
    """Return the count of records up to `at` that this release does not understand, None if 0.

    Blocks without unknown records and unknown tags are not decoded.

    Args:
        from_offset: Count from this offset on; it must not be inside a transaction. All earlier
            records are assumed to be understood.

    Raises:
        CorruptLogError: the log is damaged.
    """
    found: NotUnderstood | None = None
    for _, offset in _rows(source, at, from_offset):
        found = NotUnderstood.added(found, offset)
    return found


class UnknownKind(msgspec.Struct, frozen=True, kw_only=True):
    """A record type, version or tagged field that this release does not understand.

    Attributes:
        type: The record type; `type 99` if the type is unknown, `ThingRecord (type 99)` if one of
            the mirror's tables names the type.
        version: Version of the record's layout.
        tag: The unknown tagged field; None if the type or the version is unknown.
        path: Path of the structure that has the tag; empty if the record itself has the tag.
        records: Number of records of this kind up to the offset of the answer.
        first_offset: Offset of the first record of this kind; None if it is before the kept
            history.
        has_table: True if one of the mirror's tables names the fields, which are then shown but
            not replayed.
    """

    type: str
    version: int
    tag: int | None
    path: str | None
    records: int
    first_offset: int | None
    has_table: bool | UnsetType = UNSET

    @property
    def text(self) -> str:
        """The kind in words, such as `PartitionRecord version 2, tag 300`."""
        return kind_text(self.type, self.version, self.tag, self.path)


def kind_text(type_: str, version: int, tag: int | None, path: str | None) -> str:
    """Return a kind in words, such as `PartitionRecord version 2, tag 300`."""
    of_tag = "" if tag is None else f", tag {tag}{f' of {path}' if path else ''}"
    return f"{type_} version {version}{of_tag}"


def unknown_kinds(source: BatchSource, at: int) -> list[UnknownKind]:
    """Return the kinds of records that this release does not understand up to offset `at`.

    They are ordered by first offset. A record with two unknown tags counts for each tag.

    Raises:
        CorruptLogError: the log is damaged.
    """
    counts: dict[_Kind, NotUnderstood] = {}
    by_table: set[_Kind] = set()
    for row, offset in _rows(source, at, 0):
        tables = tables_of(source)
        kinds = dict.fromkeys(kinds_of(row, tables))
        by_table.update(_by_table(row, tables))
        for kind in kinds:
            counts[kind] = NotUnderstood.added(counts.get(kind), offset)
    return [
        UnknownKind(
            type=type_,
            version=version,
            tag=tag,
            path=path,
            records=found.records,
            first_offset=found.first_offset,
            has_table=(type_, version, tag, path) in by_table or UNSET,
        )
        for (type_, version, tag, path), found in counts.items()
    ]


def _by_table(row: Envelope, tables: "Tables") -> list[_Kind]:
    """Return the kinds in a row that are not understood but named by one of a mirror's tables."""
    record = row.payload
    if isinstance(record, UnknownRecord):
        return [] if tables.name(record) is None else kinds_of(row, tables)
    tags = () if row.extra is None else row.extra.unknown_tags
    name, version = type(record).__name__, row.record_version
    return [
        (name, version, each.tag, each.path)
        for each in tags
        if tables.has_tag(type(record), version, each)
    ]


def tables_of(source: object) -> "Tables":
    """Return the record tables that a mirror keeps; an empty `Tables` for any other source."""
    from records.kafka.tables import Tables

    return getattr(source, "tables", None) or Tables()


def kinds_of(row: Envelope, tables: "Tables") -> list[_Kind]:
    """Return the kinds in a row that are not understood: its type or version, or unknown tags."""
    # Most logs have no such record, and these modules take long to import.
    from records.kafka.layout import control_types, has_version, metadata_types

    record, version = row.payload, row.record_version
    tags = () if row.extra is None else row.extra.unknown_tags
    name = type(record).__name__
    if isinstance(record, UnknownRecord):
        version = record.record_version
        types = metadata_types() if record.control_key is None else control_types()
        known = types.get(record.api_key)
        name = f"type {record.api_key}" if known is None else known.__name__
        named = tables.name(record) if known is None else None
        if named is not None:
            name = f"{named} ({name})"
        if known is None or not has_version(known, version):
            return [(name, version, None, None)]
        # A base keeps known records with unknown tags as bytes.
        tags = _tags_of(record)
    return [(name, version, each.tag, each.path) for each in tags]


def _tags_of(record: UnknownRecord) -> tuple[UnknownTag, ...]:
    from records.kafka import codec

    if record.control_key is not None:
        return codec.decode_control(record.control_key, record.value).unknown_tags
    return codec.decode_value(record.value).unknown_tags


def _rows(source: BatchSource, at: int, from_offset: int) -> Iterator[tuple[Envelope, int | None]]:
    """Yield each row that is not understood, with its offset (None if it is no longer known)."""
    if source.base is not None and from_offset < source.history_start:
        for row in chain.from_iterable(source.base.rows()):
            if _is_not_understood(row):
                offset = UNKNOWN if row.kept is None else row.kept.version
                yield row, None if offset == UNKNOWN else offset
    start, end = max(source.history_start, from_offset), at + 1
    for _, rows in effective_batches(source, start, end, _needles(source)):
        for row in filter(_is_not_understood, rows):
            yield row, row.offset


def _needles(source: BatchSource) -> Needles:
    needles = Needles()
    for record_type in _TYPES:
        needles.add_type(record_type)
    if getattr(source, "kind", Kind.MIRROR) is Kind.MIRROR:
        needles.add_unknown_tags()
    return needles


def _is_not_understood(row: Envelope) -> bool:
    return isinstance(row.payload, UnknownRecord) or has_unknown_tags(row)
