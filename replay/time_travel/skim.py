"""Skims a log: finds the rows that affect one object without decoding the other blocks.

Every block is read and checked, but only blocks that may contain a record about the object are
decoded (see `reach`). The rows found are a complete history of the object: replaying only these
gives the same object. In the range covered by an index of changes, only the indexed blocks are
read; after that, a range between two snapshots is skipped if the object was not touched in it.

A record that contradicts the state of another object is not noticed, as when replay starts from a
snapshot.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol, runtime_checkable

from metadata_log.format.batch import Batch
from metadata_log.format.needles import Needles
from records.control import NoteRecord
from records.envelope import Envelope
from records.errors import ContradictionError, CorruptLogError
from replay.image.delta import MetadataDelta
from replay.image.fields import copied
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import BatchSource, check_point, load_image, rows_below
from replay.time_travel.change_index import ChangeIndex, FoundChanges
from replay.time_travel.objects import ObjectName, parse_object
from replay.time_travel.past_topics import PastTopics, untouched_until
from replay.time_travel.reach import Reach, WithBrokers, reach_of, reach_of_kind
from replay.transactions import Transactions, rows_within


@runtime_checkable
class SkimmableSource(BatchSource, Protocol):
    """A log whose blocks can be searched without decoding them."""

    def skim(
        self, needles: Needles, to_offset: int | None = None, *, from_offset: int | None = None
    ) -> Iterator[Batch]:
        """Yield the batches in [from_offset, to_offset) that contain a search string.

        May also yield a few others.
        """


def can_skim(source: BatchSource, name: ObjectName) -> bool:
    """True if the records of an object can be found without decoding the whole log."""
    try:
        return isinstance(source, SkimmableSource) and reach_of(name) is not None
    except (OverflowError, ValueError):
        return False


def effective_batches(
    source: BatchSource,
    from_offset: int,
    to_offset: int,
    needles: Needles | None = None,
    transactions: Transactions | None = None,
) -> Iterator[tuple[Batch, Iterable[Envelope]]]:
    """Yield each batch of a range, with the rows that take effect once the batch is read.

    Read the rows to their end before the next batch.

    Args:
        needles: Search strings, BeginTransactionRecord's among them. Batches that contain none are
            skipped if the log can be skimmed, unless they are inside a transaction.
    """
    transactions = transactions or Transactions()
    batches: Iterable[Batch]
    if needles is not None and isinstance(source, SkimmableSource):
        batches = source.skim(needles, to_offset, from_offset=from_offset)
    else:
        batches = source.batches(from_offset, to_offset)
    for batch in batches:
        yield batch, transactions.effective(rows_within(batch, from_offset, to_offset))
        if needles is not None:
            needles.everything = transactions.begin_offset is not None


def reaching_rows(
    source: BatchSource,
    name: ObjectName,
    end: int,
    progress: Callable[[int], None] | None = None,
    index: ChangeIndex | None = None,
    past: PastTopics | None = None,
    *,
    with_brokers: bool = False,
) -> tuple[MetadataImage, Iterable[Envelope], bool]:
    """Return the rows below `end` that can affect an object; all if the log cannot be skimmed.

    Args:
        progress: Called with the end offset of each batch read.
        index: Used to find the records of the object.
        past: Used to skip ranges in which the object was not touched.
        with_brokers: For a partition: also return the rows about brokers.

    Returns:
        The image before the rows, the rows in order of effect, and True if the log was skimmed. If
        so, image and rows lack most of the objects that do not affect the requested one.
    """
    found = _skimmed(source, name, end, progress, index, past, with_brokers)
    if found is None:
        start = load_image(source, source.history_start - 1)
        return start, rows_below(source, end, progress), False
    base, rows = found
    delta = MetadataDelta(MetadataImage.EMPTY)
    for row in base:
        delta.replay(row)
    return delta.apply(Provenance()), rows, True


def _skimmed(
    source: BatchSource,
    name: ObjectName,
    end: int,
    progress: Callable[[int], None] | None,
    index: ChangeIndex | None,
    past: PastTopics | None,
    with_brokers: bool,
) -> tuple[list[Envelope], list[Envelope]] | None:
    """Return rows of the base checkpoint and of the log; None if the log cannot be skimmed."""
    if not isinstance(source, SkimmableSource):
        return None
    try:
        reach = reach_of(name)
        if reach is None:
            return None
        if with_brokers:
            reach = WithBrokers(reach)
        rows: list[Envelope] = []
        again: int | None = end
        while again is not None:
            stop, ids = again, set(reach.ids)
            known = _indexed(index, name, reach, stop, with_brokers) if index else None
            before, found, again = _rows_of(source, reach, stop, progress, known, past)
            rows = found + rows
            if stop < end and not ids.issuperset(reach.ids):
                # Later records of an object that is found only now were skipped, as the removal of
                # a namespace whose name is taken again.
                rows, again = [], end
        return before, rows
    except (ContradictionError, CorruptLogError, OverflowError, ValueError):
        # Reading the whole log raises the same error as other commands.
        return None


def _indexed(
    index: ChangeIndex, name: ObjectName, reach: Reach, end: int, with_brokers: bool
) -> FoundChanges | None:
    found = index.changes_of(name, reach.ids, end) if reach.is_indexed else None
    if found is None or not with_brokers:
        return found
    brokers = index.changes_of(parse_object("broker:*"), (), end)
    return None if brokers is None else found.with_others(brokers)


def reached_rows(
    source: BatchSource,
    reach: Reach,
    end: int,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[Envelope], list[Envelope]] | None:
    """Return the rows below `end` that can affect an object, given its reach.

    Args:
        reach: All of its search strings must be known in advance.
        progress: Called with the end offset of each batch read.

    Returns:
        Rows of the base checkpoint, and rows of the log; None if the log cannot be skimmed.
    """
    if not isinstance(source, SkimmableSource):
        return None
    try:
        before, rows, again = _rows_of(source, reach, end, progress, None, None)
    except (ContradictionError, CorruptLogError):
        return None  # reading the whole log raises the same error as other commands
    assert again is None, "nothing is found too late"
    return before, rows


def notes_until(
    source: BatchSource,
    end: int,
    progress: Callable[[int], None] | None = None,
    index: ChangeIndex | None = None,
) -> list[NoteRecord]:
    """Return the distinct notes of a log below offset `end`, in the order they were written.

    Args:
        progress: Called with the end offset of each batch read.
        index: Used to find the records of notes in the range it covers.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as for `load_image`.
    """
    check_point(source, end - 1)
    if not isinstance(source, SkimmableSource):
        image = load_image(source, end - 1)
        return [copied(note, NoteRecord) for note in image.notes()]
    known = None if index is None else index.changes_of(parse_object("note:*"), (), end)
    base, rows, _ = _rows_of(source, reach_of_kind("note"), end, progress, known, None)
    notes = [row.payload for row in (*base, *rows) if isinstance(row.payload, NoteRecord)]
    return list(dict.fromkeys(notes))


def _rows_of(
    source: SkimmableSource,
    reach: Reach,
    end: int,
    progress: Callable[[int], None] | None,
    known: FoundChanges | None,
    past: PastTopics | None,
) -> tuple[list[Envelope], list[Envelope], int | None]:
    """Read a log up to `end` once.

    Returns:
        Rows of the base checkpoint, rows of the log, and the offset below which the log must be
        read again, None if the rows are complete. Rows below that offset are not returned; some of
        them are missing, because an object was discovered only after its records.
    """
    base = () if source.base is None else chain.from_iterable(source.base.rows())
    before = list(filter(reach.takes, base))
    after = [] if known is None else [r for r in _rows_at(source, known.offsets) if reach.takes(r)]
    if reach.add_missed():
        return before, [], end
    first = source.history_start if known is None else known.end_offset
    transactions, again = Transactions(), None
    for start, stop in _stretches(first, end, reach, past, transactions):
        for batch, rows in effective_batches(source, start, stop, reach.needles, transactions):
            after += [row for row in rows if reach.takes(row)]
            if transactions.begin_offset is None and reach.add_missed():
                if reach.restarts:
                    return before, [], end
                again = min(batch.end_offset, stop)
                after.clear()
            if progress is not None:
                progress(batch.end_offset)
    reach.needles.everything = False
    if reach.add_missed():
        return before, [], end
    return before, after, again


def _stretches(
    first: int, end: int, reach: Reach, past: PastTopics | None, transactions: Transactions
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of offsets to read; each must be read before the next one is requested."""
    start, target = first, reach.target
    if past is not None and target is not None:
        for stop in past.end_offsets():
            if start < stop < end:
                yield start, stop
                start = stop
                if transactions.begin_offset is None:
                    start = untouched_until(past, target, stop, end)
    if start < end:
        yield start, end


def _rows_at(source: BatchSource, offsets: list[int]) -> Iterator[Envelope]:
    """Yield the rows at the given offsets, which must be ascending."""
    rows: Iterator[Envelope] = iter(())
    batch_end = 0
    for offset in offsets:
        if offset >= batch_end:
            batch = next(iter(source.batches(offset, offset + 1)))
            rows, batch_end = iter(batch.rows), batch.end_offset
        yield next(row for row in rows if row.offset == offset)
