"""Selects the partitions of a topic that a client can write or read now.

For applications that ask with `MetadataClient`; the service itself does not need it.

Source: KIP-694 (READ_ONLY partitions cannot be written; partitions in mode NONE can be neither
written nor read).
"""

from api.kafka.messages.metadata import MetadataPartition, MetadataTopic
from replay.image.partitions import READ_ONLY, READ_WRITE

_WRITABLE = (READ_WRITE,)
_READABLE = (READ_WRITE, READ_ONLY)


def available_partitions(
    topic: MetadataTopic, *, for_write: bool = False, for_read: bool = False
) -> tuple[MetadataPartition, ...]:
    """Return the partitions in a Metadata response that can be written, read, or both.

    These partitions have a leader and a mode that allows all the requested uses. If neither
    `for_write` nor `for_read` is set, every partition with a leader is returned.

    The Metadata request must have set `knows_modes`, as `MetadataClient.metadata` does; without it,
    the response reports partitions in some modes without their leaders.
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
