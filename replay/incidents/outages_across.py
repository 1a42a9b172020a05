"""Outages of a recording with gaps: the outages of each part, some of them cut off by a gap.

An outage that lasts at the end of a part may have ended in the gap after it, and an outage found at
the start of the next part may have begun in the gap. If the same object is in the same kind of
outage on both sides, this may be one outage or two, so it is listed on each side.
"""

from collections.abc import Sequence, Set
from itertools import chain
from typing import NamedTuple

from metadata_log.format.parts import Gap
from replay.incidents.outage import Outage, Outages

_NONE: Set[tuple[object, ...]] = frozenset()


class CutOutage(NamedTuple):
    """An outage whose begin or end a gap may hide.

    Attributes:
        found_at: Offset of the state after a gap in which the outage was found; None if the record
            that began the outage is known, or if it began before the whole recording.
        last_seen_at: The last offset before a gap at which the outage lasted; None if its end is
            known, or if it lasts at the end of the recording.
        is_on_both_sides: True if the object is in the same kind of outage on the gap's other side.
    """

    outage: Outage
    found_at: int | None = None
    last_seen_at: int | None = None
    is_on_both_sides: bool = False

    @property
    def is_at_least(self) -> bool:
        """True if the outage may have lasted longer than its duration counts."""
        is_cut = self.found_at is not None or self.last_seen_at is not None
        return is_cut or self.outage.is_at_least


def outages_across(found: Sequence[Outages], gaps: Sequence[Gap | None]) -> list[CutOutage]:
    """Return the outages of all parts, longest first.

    Args:
        found: The outages of each part.
        gaps: The gap before each part; None for the part that begins the recording.
    """
    gaps = [*gaps, None]
    before = [_NONE, *({_key(it) for it in of.intervals if it.to_offset is None} for of in found)]
    after = [*({_key(it) for it in of.intervals if it.from_offset is None} for of in found), _NONE]
    cut = [
        _cut(
            outage,
            gaps[number],
            gaps[number + 1],
            _key(outage) in before[number],
            _key(outage) in after[number + 1],
        )
        for number, of in enumerate(found)
        for outage in of.intervals
    ]
    # Those of one part are in order.
    return cut if len(found) == 1 else sorted(cut, key=_longest_first)


def topics_across(found: Sequence[Outages]) -> tuple[int, int]:
    """Return the number of topics with and without a known min.insync.replicas, of all parts."""
    unknown = frozenset(chain.from_iterable(of.unknown for of in found))
    known = frozenset(chain.from_iterable(of.known for of in found))
    return len(known - unknown), len(unknown)


def _cut(
    outage: Outage, gap_before: Gap | None, gap_after: Gap | None, ran: bool, runs: bool
) -> CutOutage:
    found_at = last_seen_at = None
    if gap_before is not None and outage.from_offset is None:
        found_at = gap_before.to_offset - 1
    if gap_after is not None and outage.to_offset is None:
        last_seen_at = gap_after.from_offset - 1
    is_on_both_sides = (found_at is not None and ran) or (last_seen_at is not None and runs)
    return CutOutage(outage, found_at, last_seen_at, is_on_both_sides)


def _key(outage: Outage) -> tuple[object, ...]:
    """Return the key of an object and kind of outage, the same after a topic was renamed."""
    if outage.after is None:
        return outage.kind, outage.label
    return outage.kind, outage.after.topic_id, outage.after.partition_id


def _longest_first(cut: CutOutage) -> tuple[int, int, str]:
    return -cut.outage.duration_ms, cut.outage.from_offset or 0, cut.outage.object
