"""Counts the records that this release does not know, without building an image."""

from collections.abc import Iterable

from metadata_log.batch import Batch
from metadata_log.manifest import Kind
from metadata_log.needles import Needles
from records.control import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    UnknownRecord,
)
from records.envelope import Envelope
from replay.image.provenance import NotUnderstood, has_unknown_tags
from replay.image.versions import UNKNOWN
from replay.loader import BatchSource
from replay.time_travel.skim import SkimmableSource
from replay.transactions import effective_rows

_TYPES = (
    UnknownRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
)


def count_not_understood(
    source: BatchSource, at: int, *, from_offset: int = 0
) -> NotUnderstood | None:
    """Return how many records up to offset `at` this release does not know, None for none.

    Blocks that hold no unknown record and no unknown tag are not decoded.

    Args:
        from_offset: All records before it are known to be understood; not inside a transaction.

    Raises:
        CorruptLogError: the log is damaged.
    """
    found: NotUnderstood | None = None
    if source.base is not None and from_offset < source.history_start:
        for rows in source.base.rows():
            for row in rows:
                if _is_not_understood(row):
                    offset = UNKNOWN if row.kept is None else row.kept.version
                    found = NotUnderstood.added(found, None if offset == UNKNOWN else offset)
    start, end = max(source.history_start, from_offset), at + 1
    for row in effective_rows(_batches(source, start, end), start, end):
        if _is_not_understood(row):
            found = NotUnderstood.added(found, row.offset)
    return found


def _batches(source: BatchSource, start: int, end: int) -> Iterable[Batch]:
    if start >= end:
        return ()
    if not isinstance(source, SkimmableSource):
        return source.batches(start, end)
    needles = Needles()
    for record_type in _TYPES:
        needles.add_type(record_type)
    if getattr(source, "kind", Kind.MIRROR) is Kind.MIRROR:
        needles.add_unknown_tags()
    return source.skim(needles, end, from_offset=start)


def _is_not_understood(row: Envelope) -> bool:
    return isinstance(row.payload, UnknownRecord) or has_unknown_tags(row)
