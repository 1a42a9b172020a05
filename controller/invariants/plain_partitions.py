"""Recognizes partitions without violations in one look, as nearly all are, instead of by every
check.
"""

from collections.abc import Iterable

from controller.decisions.partitions.partition_change import RECOVERED
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, READ_WRITE, Partition


class PlainPartitions:
    """Remembers which brokers are live, while no broker changes."""

    def __init__(self) -> None:
        # Registered and not fenced, as far as anything asked.
        self._live: set[int] = set()

    def forget(self) -> None:
        """Forget everything: brokers have changed."""
        self._live.clear()

    def others(self, image: MetadataImage, some: Iterable[Partition]) -> list[Partition]:
        """Return the partitions in which a check of OF_PARTITIONS may find something."""
        if next(image.pending_removals(), None) is not None:
            return [*some]  # the partitions that are removed have other modes
        return [each for each in some if not self._is_plain(image, each)]

    def _is_plain(self, image: MetadataImage, p: Partition) -> bool:
        replicas, isr = set(p.replicas), set(p.isr)
        return (
            bool(isr)
            and len(isr) == len(p.isr)
            and len(replicas) == len(p.replicas)
            and isr <= replicas
            and (p.leader in isr or p.leader == NO_LEADER)
            and (isr <= self._live or self._are_live(image, isr))
            and not (p.adding_replicas or p.removing_replicas or p.eligible_leader_replicas)
            and p.mode == READ_WRITE
            and p.leader_recovery_state == RECOVERED
            and p.leader_epoch >= 0
            and p.partition_epoch >= 0
            and (not p.directories or len(p.directories) == len(p.replicas))
        )

    def _are_live(self, image: MetadataImage, broker_ids: set[int]) -> bool:
        for each in broker_ids - self._live:
            broker = image.broker(each)
            if broker is None or broker.fenced:
                return False
            self._live.add(each)
        return True
