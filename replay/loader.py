"""Builds images from the batches of a log: at its end, at any offset, or after each batch.

The rules for positions and transactions are in docs/replay.md. After loading a large image that is
kept in memory, call `gc.freeze()`: its millions of objects contain no cycles, so the garbage
collector need not visit them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import msgspec

from metadata_log.format.batch import Batch
from metadata_log.reader.position import Position
from records.control import NoOpRunRecord
from records.envelope import Envelope
from records.errors import (
    ContradictionError,
    CorruptLogError,
    RequestError,
    UnknownHistoryError,
)
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.transactions import Transactions, effective_rows, rows_within

Newest = Callable[[int], MetadataImage | None]
"""Returns the newest snapshot at or below an offset, if there is one."""


class BaseState(Protocol):
    """The state that a log starts from if its earlier history was removed."""

    @property
    def end_offset(self) -> int:
        """End of the state, exclusive: it contains all records below this offset."""

    @property
    def leader_epoch(self) -> int:
        """Epoch of the last contained record."""

    @property
    def timestamp(self) -> int:
        """Append time of the last contained record, in ms since 1970."""

    def rows(self) -> Iterable[tuple[Envelope, ...]]:
        """The records of the state, without header and footer; offsets count within the file."""


class BatchSource(Protocol):
    """Interface of a log, as replay needs it."""

    @property
    def start_offset(self) -> int:
        """First offset that `batches` can return."""

    @property
    def base(self) -> BaseState | None:
        """The base state, None if the log starts empty."""

    @property
    def history_start(self) -> int:
        """First offset of the kept history: images before it are not known."""

    @property
    def end_offset(self) -> int:
        """End of the committed records, exclusive."""

    def batches(
        self, from_offset: int | None = None, to_offset: int | None = None
    ) -> Iterable[Batch]:
        """Return the batches that contain any offset in [from_offset, to_offset), each whole."""

    def position(self, end_offset: int) -> Position:
        """The position at an end offset in [history_start, end_offset]."""


class Place:
    """How far a log has been read.

    Attributes:
        last: Provenance of the last record read.
    """

    def __init__(self, start: Provenance) -> None:
        """Start after the last record contained in an image."""
        self.last = msgspec.structs.replace(start, pending_transaction=None)
        # Provenance before the Begin of the open transaction.
        self._before: Provenance | None = None

    @property
    def of_image(self) -> Provenance:
        """Provenance of the image here; inside a transaction, that of the image before Begin."""
        return self._before or self.last

    def move(self, batch: Batch, end_offset: int, begin_offset: int | None) -> None:
        """Move behind a batch, or to an end offset inside it.

        Args:
            begin_offset: Offset of the Begin of the transaction open at the new position; None
                outside a transaction.
        """
        before = self._before
        if begin_offset is None:
            self._before = None
        elif before is None or before.pending_transaction != begin_offset:
            at_start = begin_offset == batch.base_offset
            before = self.last if at_start else provenance_at(batch, begin_offset)
            self._before = msgspec.structs.replace(before, pending_transaction=begin_offset)
        self.last = provenance_at(batch, end_offset)


class Replayer:
    """Replays a log batch by batch and returns the image at its position.

    After an error the replayer must not be used.
    """

    def __init__(
        self, start: MetadataImage = MetadataImage.EMPTY, *, next_offset: int | None = None
    ) -> None:
        """Continue from the image `start`.

        Args:
            next_offset: Start of the log, if `start` is empty and the log does not begin at 0.
        """
        self._image = start
        self._delta = self._delta_of(start)
        # First offset not read yet; those of an open transaction were read.
        self.next_offset = start.provenance.next_offset if next_offset is None else next_offset
        self._place = Place(start.provenance)
        self._transactions = Transactions()

    @property
    def delta(self) -> MetadataDelta:
        """The changes applied since the last call of `image`."""
        return self._delta

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open."""
        return self._transactions.begin_offset is not None

    def replay(self, batch: Batch, up_to: int | None = None) -> None:
        """Apply the rows of a batch that are not applied yet, at most up to offset `up_to`.

        Raises:
            CorruptLogError: offsets are missing before the batch.
            ContradictionError: a record contradicts the state before it.
        """
        end_offset = batch.end_offset if up_to is None else min(batch.end_offset, up_to + 1)
        if end_offset <= self.next_offset:
            return
        if batch.base_offset > self.next_offset:
            raise CorruptLogError(
                f"offset {self.next_offset}: missing, the next batch starts at {batch.base_offset}"
            )
        rows = rows_within(batch, self.next_offset, end_offset)
        delta = self._delta
        for found in self._transactions.resolved(rows):
            if found.in_effect:
                delta.replay_all(found.rows)
        self._place.move(batch, end_offset, self._transactions.begin_offset)
        self.next_offset = end_offset

    def image(self) -> MetadataImage:
        """Return the image of all records applied, except those of an open transaction."""
        provenance = self._place.of_image
        if _place(provenance) != _place(self._image.provenance):
            self._image = self._delta.apply(provenance)
            self._delta = self._delta_of(self._image)
        return self._image

    def _delta_of(self, image: MetadataImage) -> MetadataDelta:
        return MetadataDelta(image)


def _place(provenance: Provenance) -> tuple[int | None, int | None]:
    return provenance.offset, provenance.pending_transaction


def provenance_at(batch: Batch, end_offset: int) -> Provenance:
    """Return the provenance of an image that ends at `end_offset`, inside or after the batch.

    Only for images outside a transaction.
    """
    last = batch.rows[-1].payload
    mid_batch = end_offset < batch.end_offset
    if isinstance(last, NoOpRunRecord):
        # A run replaces many batches, so every point inside it is the end of one.
        mid_batch = mid_batch and len(batch.rows) > 1
    return Provenance(
        offset=end_offset - 1,
        leader_epoch=batch.leader_epoch,
        timestamp=batch.times_at(min(end_offset, batch.end_offset) - 1)[0],
        mid_batch=mid_batch,
    )


def load_image(
    source: BatchSource,
    at: int | None = None,
    *,
    start: MetadataImage | None = None,
    progress: Callable[[int], None] | None = None,
    on_batch: Callable[[Batch], None] | None = None,
) -> MetadataImage:
    """Return the image of the cluster as of offset `at`, inclusive; None means the end of the log.

    Takes O(records replayed) time and O(image + largest transaction) space. `at` may be
    `history_start` - 1: the state before the first kept record.

    Args:
        start: Image of the same log to continue from; not newer than `at`. Ignored if it ends
            before the kept history.
        progress: Called with the end offset of each batch as it is replayed.
        on_batch: Called with each batch after it was replayed; the last batch may contain records
            after `at`, which were not replayed.

    Raises:
        UnknownHistoryError: `at` is before the kept history.
        RequestError: OFFSET_OUT_OF_RANGE, `at` is past the end.
        CorruptLogError: the log is damaged.
        ContradictionError: a record contradicts the state before it; see
            `time_travel.contradictions.explained`.
    """
    end_offset = check_point(source, at)
    replayer = replayer_from(source, start)
    assert replayer.next_offset <= end_offset, "the image to start from is newer than the point"
    for batch in source.batches(replayer.next_offset, end_offset):
        replayer.replay(batch, up_to=end_offset - 1)
        if progress is not None:
            progress(replayer.next_offset)
        if on_batch is not None:
            on_batch(batch)
    return replayer.image()


def images(
    source: BatchSource,
    from_offset: int,
    to_offset: int,
    *,
    start: MetadataImage | None = None,
) -> Iterator[tuple[Batch, MetadataImage]]:
    """Yield each batch with the image after it.

    Yields the batches with any offset in [from_offset, to_offset), each whole. Inside a
    transaction, the image is that before Begin.

    Args:
        start: As for `load_image`; not newer than `from_offset`.

    Raises:
        UnknownHistoryError: `from_offset` is before the kept history.
        RequestError: OFFSET_OUT_OF_RANGE, `to_offset` is past the end.
        CorruptLogError: the log is damaged.
        ContradictionError: a record contradicts the state before it; see
            `time_travel.contradictions.explained`.
    """
    check_point(source, from_offset - 1)
    check_point(source, to_offset - 1)
    replayer = replayer_from(source, start)
    assert replayer.next_offset <= from_offset, "the image to start from is newer than the range"
    for batch in source.batches(replayer.next_offset, to_offset):
        replayer.replay(batch)
        if batch.end_offset > from_offset:
            yield batch, replayer.image()


def rows_below(
    source: BatchSource, end_offset: int, progress: Callable[[int], None] | None = None
) -> Iterator[Envelope]:
    """Yield the rows of the kept history below an offset that take effect, in order of effect."""
    start = source.history_start
    return effective_rows(source.batches(start, end_offset), start, end_offset, progress)


def check_point(source: BatchSource, at: int | None) -> int:
    """Check that the image at `at` is known; return the offset at which its replay ends, exclusive.

    Args:
        at: None means the end of the log.

    Raises:
        UnknownHistoryError, RequestError: as for `load_image`.
    """
    if at is None:
        return source.end_offset
    if not isinstance(at, int):
        raise RequestError(
            "INVALID_REQUEST", f"{at!r} is not an offset; `resolve_point` turns a point into one"
        )
    if at < source.history_start - 1:
        raise UnknownHistoryError(
            f"offset {at} is unknown: history starts at {source.history_start}"
        )
    if at >= source.end_offset:
        raise RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"offset {at} is past the end: the log ends at {source.end_offset} (exclusive)",
        )
    return at + 1


def replayer_from(
    source: BatchSource, start: MetadataImage | None, of: type[Replayer] = Replayer
) -> Replayer:
    """Return a replayer that starts from an image, or from the log's start if that is later."""
    if start is not None and start.provenance.next_offset >= source.history_start:
        return of(start)
    if source.base is None:
        return of(MetadataImage.EMPTY, next_offset=source.start_offset)
    return of(_base_image(source.base))


def _base_image(base: BaseState) -> MetadataImage:
    delta = MetadataDelta(MetadataImage.EMPTY)
    try:
        for rows in base.rows():
            for row in rows:
                delta.restore(row)
    except ContradictionError as error:
        # An image was written here, which cannot contradict itself.
        raise CorruptLogError(str(error)) from error
    if base.end_offset == 0:
        return delta.apply(Provenance())
    return delta.apply(
        Provenance(
            offset=base.end_offset - 1,
            leader_epoch=base.leader_epoch,
            timestamp=base.timestamp,
        )
    )
