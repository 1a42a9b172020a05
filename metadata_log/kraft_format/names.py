"""Names of the files in Kafka's metadata log directory that are read here.

All other files are ignored: indexes, producer snapshots, files being written (`.part`) or deleted
(`.deleted`), files left by cleaning (`.swap`, `.cleaned`), and `bootstrap.checkpoint`, which Kafka
itself reads only while the log is empty.
"""

import re

PARTITION_DIRECTORY = "__cluster_metadata-0"
META_PROPERTIES = "meta.properties"
LEADER_EPOCHS = "leader-epoch-checkpoint"
QUORUM_STATE = "quorum-state"
LOCK = ".lock"

_OFFSET_MAX = (1 << 63) - 1

_SEGMENT = re.compile(r"([0-9]{20})\.log")
_CHECKPOINT = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")


def segment_base_offset(name: str) -> int | None:
    """Return a segment's base offset, or None if the name is not a segment's."""
    match = _SEGMENT.fullmatch(name)
    return _offset(match[1]) if match else None


def checkpoint_id(name: str) -> tuple[int, int] | None:
    """Return a checkpoint's end offset and leader epoch; None for names of other files."""
    match = _CHECKPOINT.fullmatch(name)
    end_offset = _offset(match[1]) if match else None
    return None if match is None or end_offset is None else (end_offset, int(match[2]))


def _offset(digits: str) -> int | None:
    """Convert 20 digits to an offset; return None if the number does not fit in 63 bits."""
    offset = int(digits)
    return offset if offset <= _OFFSET_MAX else None


def segment_name(base_offset: int) -> str:
    """Return the name of the segment whose first record has this offset."""
    return f"{base_offset:020d}.log"


def checkpoint_name(end_offset: int, leader_epoch: int) -> str:
    """Return the name of the checkpoint with the state below `end_offset`."""
    return f"{end_offset:020d}-{leader_epoch:010d}.checkpoint"
