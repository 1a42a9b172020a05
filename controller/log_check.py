"""Checks a log at every offset: the invariants, and conditions that the caller expects."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from controller.invariants.history import InvariantTracker, Key, Violation, begun
from metadata_log.format.batch import Batch
from replay.expressions.bisect import holds
from replay.expressions.changed_tokens import touched
from replay.expressions.expression import Expression
from replay.image.metadata import MetadataImage
from replay.incidents.live_replay import LiveReplayer
from replay.loader import BatchSource, Replayer, replayer_from
from replay.time_travel.contradictions import explains
from replay.time_travel.effects import touched_keys

EXPECT = "expect"
"""Stands for the invariant's name in the violation of a condition that the caller expects."""


class Change(NamedTuple):
    """The violations that began with a batch, and those that ended with it.

    An illegal step between two images is in both lists.
    """

    begun: list[Violation]
    ended: list[Violation]


class LogCheck:
    """The violations of a log while it is read, batch by batch.

    Attributes:
        lasting: The current violations by their keys: invariant, object and text.
        checked_end: End of the last batch that ended outside a transaction, exclusive: the state is
            checked only there.
    """

    def __init__(self, replayer: Replayer, expectations: Sequence[Expression] = ()) -> None:
        """Check the replayer's current image, whose violations began before the checked range.

        Raises:
            RequestError: INVALID_REQUEST, the types of an expectation do not fit.
        """
        start = replayer.image()
        self._replayer = replayer
        self._invariants = InvariantTracker(start)
        self._evaluators = {each.text: each.incremental() for each in expectations}
        self._missed: set[Key] = {
            (EXPECT, None, text)
            for text, evaluator in self._evaluators.items()
            if not holds(evaluator.start(start))
        }
        self.lasting = _begun(self._invariants.active | self._missed, None)
        self.checked_end = replayer.next_offset

    @property
    def next_offset(self) -> int:
        """The first offset that was not read yet."""
        return self._replayer.next_offset

    @property
    def image(self) -> MetadataImage:
        """The image that was checked last."""
        return self._replayer.image()

    def objects(self, expectation: str, count_max: int) -> tuple[list[str], int]:
        """Return the names of the objects that an expectation's macro found, and their number.

        Args:
            count_max: Maximum number of names to return; the returned number counts all objects.
        """
        return self._evaluators[expectation].found(self.image, count_max)

    def step(self, batch: Batch, to_offset: int | None = None) -> Change:
        """Read the next batch, and check the image after it.

        Args:
            to_offset: Leave out records from this offset on.

        Raises:
            CorruptLogError, ContradictionError: as `Replayer.replay`.
            RequestError: INVALID_REQUEST, the types of an expectation do not fit.
        """
        replayer = self._replayer
        end = batch.end_offset if to_offset is None else min(batch.end_offset, to_offset)
        replayer.replay(batch, up_to=end - 1)
        if replayer.in_transaction or batch.end_offset > end:
            return Change([], [])
        delta = replayer.delta
        keys = touched_keys(delta, with_partitions=False)
        tokens = touched(delta) if self._evaluators else set()
        image = replayer.image()
        steps = begun(self._invariants.step(delta, keys, image), batch, at_once=True)
        for text, evaluator in self._evaluators.items():
            if evaluator.is_touched(tokens):
                key: Key = (EXPECT, None, text)
                (self._missed.discard if holds(evaluator.start(image)) else self._missed.add)(key)
        self.checked_end = batch.end_offset
        return self._changed(batch, steps)

    def _changed(self, batch: Batch, steps: list[Violation]) -> Change:
        now = self._invariants.active | self._missed
        if now == self.lasting.keys():
            return Change(steps, steps)
        ended = [self.lasting.pop(key) for key in _ordered(self.lasting.keys() - now)]
        for each in ended:
            each.until = batch.end_offset - 1
        new = _begun(now - self.lasting.keys(), batch)
        self.lasting |= new
        return Change([*steps, *new.values()], [*steps, *ended])


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
    # An expectation may read anything of an image.
    of = Replayer if expectations else LiveReplayer
    check = LogCheck(replayer_from(source, start, of), expectations)
    found = list(check.lasting.values())
    first = check.next_offset
    for batch in source.batches(first, to_offset) if first < to_offset else ():
        found += check.step(batch, to_offset).begun
        if progress is not None:
            progress(check.next_offset)
    return found


def _begun(keys: Collection[Key], batch: Batch | None) -> dict[Key, Violation]:
    ordered = _ordered(keys)
    return dict(zip(ordered, begun(ordered, batch), strict=True))


def _ordered(keys: Collection[Key]) -> list[Key]:
    return sorted(keys, key=lambda key: (key[0], key[1] or "", key[2]))
