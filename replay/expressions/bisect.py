"""Bisect: finds where the value of an expression flips in a log.

The expression is evaluated only at ends of batches outside transactions; between them the state may
be inconsistent.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from metadata_log.format.batch import Batch
from records.base import Record
from records.control import EndTransactionRecord, NoOpRunRecord
from records.envelope import Envelope
from replay.expressions.changed_tokens import touched, touched_by
from replay.expressions.expression import Expression, IncrementalEvaluator
from replay.expressions.lazy_image import LazyImage
from replay.expressions.values import Token
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, Replayer, replayer_from
from replay.time_travel.contradictions import explains


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A change of an expression's value.

    Attributes:
        offset: Last offset of the batch after which the expression has the new value.
        time: Append time of the batch, in ms since 1970.
        cause: Offset of the first record of the batch that may have changed an object that the
            expression reads.
        type: Type of the record at `cause`.
        principal: Principal of the request that wrote the record; None if not in the log.
        reason: Reason given in that request; None if not in the log.
    """

    offset: int
    time: int
    value: Any
    cause: int
    type: str
    principal: str | None = None
    reason: str | None = None


class Flips(msgspec.Struct):
    """The flips found by a replay.

    Attributes:
        before: The expression's value before the range.
        first: The first offset of the range at which the expression holds; None if there is none.
        found: All flips, in the order of the log.
        assumed: The assumption that the search relied on, in words; None if it made none.
    """

    before: Any
    assumed: str | None = None
    first: int | None = None
    found: list[Flip] = msgspec.field(default_factory=list)


def holds(value: Any) -> bool:
    """True if an expression with this value holds: any value but false and null."""
    return value is not None and value is not False


@explains
def find_flips(
    source: BatchSource,
    expression: Expression,
    start: MetadataImage,
    to_offset: int,
    *,
    progress: Callable[[int], None] | None = None,
) -> Flips:
    """Return every flip of an expression after an image, in one replay.

    Args:
        start: The image before the range.
        to_offset: End of the range (exclusive).
        progress: Called with the end offset of each batch.

    Raises:
        RequestError: INVALID_REQUEST, the types of the expression do not fit, or it takes too long.
        CorruptLogError: the log is damaged, or a record contradicts the state before it.
    """
    return _flips_after(source, _look(expression, start), to_offset, progress)


class _Look(NamedTuple):
    """An image, the value of an expression in it, and the evaluator that computed the value."""

    image: MetadataImage
    evaluator: IncrementalEvaluator
    value: Any


def _look(expression: Expression, image: MetadataImage) -> _Look:
    evaluator = expression.incremental()
    return _Look(image, evaluator, evaluator.start(image))


def _flips_after(
    source: BatchSource,
    start: _Look,
    to_offset: int,
    progress: Callable[[int], None] | None,
    *,
    once: bool = False,
) -> Flips:
    evaluator, value = start.evaluator, start.value
    flips = Flips(before=value)
    replayer = replayer_from(source, start.image)
    live = cast(MetadataImage, LazyImage(replayer))
    for batch, end, tokens in _steps(source, replayer, to_offset, evaluator, progress):
        if tokens and evaluator.is_touched(tokens):
            new = evaluator.start(live)
            if not _is_same(new, value):
                flips.found.append(_flip(batch, evaluator, new))
                value = new
        if flips.first is None and holds(value):
            flips.first = end
        if once and flips.found:
            break
    return flips


@explains
def find_only_flip(
    source: BatchSource,
    expression: Expression,
    image_at: Callable[[int], MetadataImage],
    ends: Sequence[int],
    from_offset: int,
    to_offset: int,
    progress: Callable[[int], None] | None = None,
) -> Flips:
    """Return the flip of an expression that flips at most once in [from_offset, to_offset).

    Bisects over images that are cheap to get, then replays the log between two of them.

    Args:
        image_at: Returns the image as of an offset, possibly one that is decoded lazily.
        ends: End offsets of the images that are cheap to get, ascending.

    Raises:
        RequestError, CorruptLogError: as `find_flips`.
    """
    start = low = _look(expression, image_at(from_offset - 1))
    between = [end for end in ends if from_offset < end < to_offset]
    first, last, looks = 0, len(between), 0
    while first < last:
        # If it has not flipped by the middle, look at the newest: often it never flips.
        middle = last - 1 if looks == 1 and first else (first + last) // 2
        looks += 1
        found = _look(expression, image_at(between[middle] - 1))
        if _is_same(found.value, start.value):
            first, low = middle + 1, found
        else:
            last = middle
    # The batch that flips it may end after the image that has the new value.
    flips = _flips_after(source, low, to_offset, progress, once=True)
    flips.assumed = "it flips at most once: the value is the same before, and the same after"
    if holds(start.value):
        flips.first = _first_end(source, start.image, to_offset)
    return flips


def _first_end(source: BatchSource, start: MetadataImage, to_offset: int) -> int | None:
    """Return the first offset after an image at which the expression may be evaluated, or None."""
    replayer = replayer_from(source, start)
    for batch in source.batches(replayer.next_offset, to_offset):
        end = _end_in(batch, replayer.next_offset, to_offset)
        replayer.replay(batch)
        if not replayer.in_transaction and end is not None:
            return end
    return None


def _end_in(batch: Batch, from_offset: int, to_offset: int) -> int | None:
    """Return the first offset in [from_offset, to_offset) at which a batch ends, or None.

    A NoOpRunRecord stands for many batches, each of which may be the first to end.
    """
    if isinstance(batch.rows[0].payload, NoOpRunRecord):
        return max(batch.base_offset, from_offset)
    return batch.end_offset - 1 if batch.end_offset <= to_offset else None


def _is_same(value: Any, other: Any) -> bool:
    return bool(value == other) and type(value) is type(other)


def _steps(
    source: BatchSource,
    replayer: Replayer,
    to_offset: int,
    evaluator: IncrementalEvaluator,
    progress: Callable[[int], None] | None,
) -> Iterator[tuple[Batch, int, set[Token]]]:
    """Yield each batch that ends outside a transaction, its first end, and the tokens touched.

    The tokens are those touched since the batch yielded before; tokens of records that cannot
    change the evaluator's value may be missing.
    """
    first, types, may_set = replayer.next_offset, evaluator.types, evaluator.may_set
    noted: set[Token] = set()
    for batch in source.batches(first, to_offset):
        tokens = None
        if not replayer.in_transaction:
            tokens = touched_by(batch.rows, types, may_set, replayer.delta)
        if tokens is None:
            replayer.image()  # the delta then holds what this batch changes
        end = _end_in(batch, replayer.next_offset, to_offset)
        replayer.replay(batch, up_to=to_offset - 1)
        if progress is not None:
            progress(replayer.next_offset)
        # A batch may begin with records that take effect, and end in a transaction.
        noted |= touched(replayer.delta) if tokens is None else tokens
        if not replayer.in_transaction and end is not None:
            yield batch, end, noted
            noted = set()


def _candidates(rows: Sequence[Envelope], may_change: Callable[[Record], bool]) -> list[Envelope]:
    """Return the rows that may have changed a value.

    The end of a transaction is included, because it applies all rows of the transaction.
    """
    return [
        row
        for row in rows
        if may_change(row.payload) or isinstance(row.payload, EndTransactionRecord)
    ]


def _flip(batch: Batch, evaluator: IncrementalEvaluator, value: Any) -> Flip:
    # The expression reads other objects now than before: a record may concern neither.
    cause = (_candidates(batch.rows, evaluator.may_change) or batch.rows)[0]
    origin = cause.origin
    return Flip(
        offset=batch.end_offset - 1,
        time=batch.timestamp,
        value=value,
        cause=cause.offset,
        type=type(cause.payload).__name__,
        principal=None if origin is None else origin.principal,
        reason=None if origin is None else origin.reason,
    )
