"""The partitions of a topic that a client may use.

Source: KIP-694 (READ_ONLY and NONE take no writes, NONE gives no reads).
"""

from api.kafka.messages.metadata import MetadataPartition, MetadataTopic
from replay.image.partitions import READ_ONLY, READ_WRITE

_WRITABLE = (READ_WRITE,)
_READABLE = (READ_WRITE, READ_ONLY)


def available_partitions(
    topic: MetadataTopic, *, for_write: bool = False, for_read: bool = False
) -> tuple[MetadataPartition, ...]:
    """Return the partitions of a Metadata response that a client can write, read, or both.

    They have a leader and a mode that allows all the requested uses. If neither `for_write` nor
    `for_read` is set, return every partition that has a leader.

    The Metadata request must have set `knows_modes`, as `MetadataClient.metadata` does; other
    responses do not have all modes.
    """
    return tuple(
        [
            partition
            for partition in topic.partitions
            if partition.leader_id >= 0
            and not (for_write and partition.mode not in _WRITABLE)
            and not (for_read and partition.mode not in _READABLE)
        ]
    )
