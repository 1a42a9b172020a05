"""Checks a log at every offset: the invariants, and conditions that the caller expects."""

from collections.abc import Callable, Collection, Sequence

from controller.invariants.history import InvariantTracker, Key, Violation, begun
from metadata_log.format.batch import Batch
from replay.expressions.bisect import holds
from replay.expressions.changed_tokens import touched
from replay.expressions.expression import Expression
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource, replayer_from
from replay.time_travel.contradictions import explains

EXPECT = "expect"
"""Name in place of an invariant's, where an expected condition is violated."""


@explains
def check_log(
    source: BatchSource,
    start: MetadataImage,
    to_offset: int,
    *,
    expectations: Sequence[Expression] = (),
    progress: Callable[[int], None] | None = None,
) -> list[Violation]:
    """Return all violations in a range of a log, in the order in which they begin.

    The state is checked only at the ends of batches that are outside transactions.

    Args:
        start: The image before the range; its own violations begin before the range.
        to_offset: End of the range (exclusive).
        expectations: Conditions that should be true at every offset.
        progress: Called with the end offset of each batch.

    Raises:
        RequestError: INVALID_REQUEST, the types of an expectation do not fit.
        CorruptLogError: the log is damaged, or a record contradicts the state before it.
    """
    invariants = InvariantTracker(start)
    evaluators = [(each.text, each.incremental()) for each in expectations]
    missed: set[Key] = {
        (EXPECT, None, text) for text, evaluator in evaluators if not holds(evaluator.start(start))
    }
    lasting = _begun(invariants.active | missed, None)
    found = list(lasting.values())
    replayer = replayer_from(source, start)
    first = replayer.next_offset
    for batch in source.batches(first, to_offset) if first < to_offset else ():
        replayer.replay(batch, up_to=to_offset - 1)
        invariants.add(row.payload for row in batch.rows)
        if progress is not None:
            progress(replayer.next_offset)
        if replayer.in_transaction or batch.end_offset > to_offset:
            continue
        tokens = touched(replayer.delta)
        image = replayer.image()
        found += begun(invariants.step(image, tokens), batch, at_once=True)
        for text, evaluator in evaluators:
            if evaluator.is_touched(tokens):
                key: Key = (EXPECT, None, text)
                (missed.discard if holds(evaluator.start(image)) else missed.add)(key)
        now = invariants.active | missed
        if now != lasting.keys():
            for key in lasting.keys() - now:
                lasting.pop(key).until = batch.end_offset - 1
            new = _begun(now - lasting.keys(), batch)
            lasting |= new
            found += new.values()
    return found


def _begun(keys: Collection[Key], batch: Batch | None) -> dict[Key, Violation]:
    ordered = sorted(keys, key=lambda key: (key[0], key[1] or "", key[2]))
    return dict(zip(ordered, begun(ordered, batch), strict=True))
