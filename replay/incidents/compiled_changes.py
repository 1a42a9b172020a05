"""Plain changes of partitions in C, if the distribution `metalog-codec` is installed.

The compiled module changes the same dicts and objects as the rules in Python, and leaves to these
rules whatever is not plain. Whether it is used at all is decided together with the compiled codec
of rows (`records/avro/compiled.py`).
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from records.avro import compiled
from records.base import Uuid
from records.envelope import Envelope
from records.partitions import PartitionChangeRecord, PartitionRecord
from replay.image.partitions import (
    LEADER_UNSET,
    NO_LEADER,
    RECOVERY_STATE_UNSET,
    Partition,
    changed,
)

_PLANS = 1
"""Version of the compiled module that this release uses; the module names its own."""

_Live = dict[Uuid, dict[int, Partition]]
_Otherwise = Callable[[Envelope, Partition | None, Partition], None]


class PlainChanges(Protocol):
    """Applies plain rows of a batch: most changes of partitions, and most new partitions."""

    def replay(self, rows: tuple[Envelope, ...], is_calm: bool) -> Iterable[Envelope]:
        """Apply plain rows, in order, and yield the other rows, which the caller applies.

        Args:
            is_calm: True if no broker's record can be the cause of a change in the batch.
        """


def plain_changes(
    of: str, live: _Live, otherwise: _Otherwise, /, **kept: object
) -> PlainChanges | None:
    """Return what applies plain changes in C; None if the rules in Python do all the work.

    Args:
        of: Name of a class of the compiled module.
        live: The partitions by topic and number.
        otherwise: Called after a change whose consequences are not plain.
        kept: Arguments of the class's `keep`: where these consequences are kept.
    """
    if not is_used():
        return None
    found: PlainChanges = _made(of, live, otherwise).keep(**kept)
    return found


def is_used() -> bool:
    """True if the compiled codec is used, and its follower of partitions fits this release."""
    return compiled.CHOICE.is_compiled and _fits()


@functools.cache
def _fits() -> bool:
    return compiled.fits(_module, _PLANS, _try_change)


@functools.cache
def _module() -> Any:
    import metalog_follower

    return metalog_follower


def _made(of: str, live: _Live, otherwise: _Otherwise) -> Any:
    classes = Envelope, PartitionChangeRecord, PartitionRecord, Partition
    unset = LEADER_UNSET, RECOVERY_STATE_UNSET
    return getattr(_module(), of)(*classes, unset, NO_LEADER, live, otherwise)


# Fields must not be mistaken for others.
def _try_change() -> None:
    """Change a partition and compare it with what the rule in Python makes of it.

    Raises:
        Exception: any error; the compiled module does not fit this release.
    """
    topic_id = Uuid(bytes(16))
    before = Partition(topic_id, 1, (2, 3), (2, 3), (4,), (5,), 6, 7, 8, 9, (), (10,), (11,), 12)
    record = PartitionChangeRecord(partition_id=1, topic_id=topic_id, isr=(3,), leader=3)
    row = Envelope(
        offset=1, leader_epoch=2, timestamp=3, batch_offset=4, record_version=5, payload=record
    )
    made: list[tuple[Envelope, Partition, Partition]] = []
    changes = _made("Changes", {topic_id: {1: before}}, lambda *all_: made.append(all_))
    left = list(changes.replay((row,), True))
    if (left, made) != ([], [(row, before, changed(before, record))]):
        raise ValueError(f"it leaves {left} of {record}, and makes {made}")
