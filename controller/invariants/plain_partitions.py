"""Recognizes partitions without violations in one look, as nearly all are, instead of by every
check.
"""

from collections.abc import Iterable

from controller.decisions.partitions.partition_change import RECOVERED
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, READ_WRITE, Partition

_KEPT_MAX = 10_000
"""So many combinations take about 3 MB; a cluster has as many as it has partitions at most."""

_Members = tuple[tuple[int, ...], tuple[int, ...], int]


class PlainPartitions:
    """Remembers which replicas, ISRs and leaders violate nothing while no broker changes."""

    def __init__(self) -> None:
        self._sound: set[_Members] = set()

    def forget(self) -> None:
        """Forget everything: brokers have changed."""
        self._sound.clear()

    def others(self, image: MetadataImage, some: Iterable[Partition]) -> list[Partition]:
        """Return the partitions in which a check of OF_PARTITIONS may find something."""
        if next(image.pending_removals(), None) is not None:
            return [*some]  # the partitions that are removed have other modes
        return [each for each in some if not self._is_plain(image, each)]

    def _is_plain(self, image: MetadataImage, p: Partition) -> bool:
        return (
            self._are_sound(image, (p.replicas, p.isr, p.leader))
            and not (p.adding_replicas or p.removing_replicas or p.eligible_leader_replicas)
            and p.mode == READ_WRITE
            and p.leader_recovery_state == RECOVERED
            and p.leader_epoch >= 0
            and p.partition_epoch >= 0
            and (not p.directories or len(p.directories) == len(p.replicas))
        )

    def _are_sound(self, image: MetadataImage, members: _Members) -> bool:
        if members in self._sound:
            return True
        replicas, isr, leader = members
        in_sync = set(isr)
        are_sound = (
            bool(in_sync)
            and len(in_sync) == len(isr)
            and len(set(replicas)) == len(replicas)
            and in_sync.issubset(replicas)
            and leader in (NO_LEADER, *isr)
            and all(_is_live(image, each) for each in isr)
        )
        if are_sound:
            if len(self._sound) >= _KEPT_MAX:
                self._sound.clear()
            self._sound.add(members)
        return are_sound


def _is_live(image: MetadataImage, broker_id: int) -> bool:
    broker = image.broker(broker_id)
    return broker is not None and not broker.fenced
