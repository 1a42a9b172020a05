"""File names in a log directory."""

import re

MANIFEST = "metalog.json"
COMMIT_MARK = "commit.mark"
LOCK = ".lock"
KRAFT_TABLES = "kraft_tables.json"
CONFIRMATIONS = "confirmations.json"
FROZEN = "frozen.json"
"""Marks a mirror as frozen: nothing may write to it. Copies of the mirror do not get this file."""
PARTS = "parts.json"
"""In a mirror that follows a gap, lists the earlier parts of the recording, and their gaps."""
MIRROR_FILES = (KRAFT_TABLES, CONFIRMATIONS, PARTS)
"""Small files that a mirror may have beside its records; they are copied with the mirror."""
NODE_FILE = "node.json"
"""Marks the folder of a node of a shared log; copies of the folder do not get this file."""
BACKUP_NOTE = "backup.json"
"""Marks a directory as a copy made by `backup` or `archive`; written first."""
DERIVED_SUFFIXES = (".index", ".filter")
"""Ends of the names of files made from a segment; they may be removed at any time."""

_SEGMENT = re.compile(r"(\d{20})\.avro")
_CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint\.avro")
_CLAIM = re.compile(r"epoch-(\d+)")


def segment_name(base_offset: int) -> str:
    """Return the name of the segment that starts at an offset."""
    return f"{base_offset:020d}.avro"


def index_name(base_offset: int) -> str:
    """Return the name of the offset and time index of the segment that starts at an offset."""
    return f"{base_offset:020d}.index"


def filter_name(base_offset: int) -> str:
    """Return the name of the block filter of the segment that starts at an offset."""
    return f"{base_offset:020d}.filter"


def derived_names(base_offset: int) -> tuple[str, ...]:
    """Return the names of the files made from the segment that starts at an offset."""
    return index_name(base_offset), filter_name(base_offset)


def checkpoint_name(end_offset: int, leader_epoch: int) -> str:
    """Return the name of the checkpoint with the state below `end_offset`."""
    return f"{end_offset:020d}-{leader_epoch:010d}.checkpoint.avro"


def claim_name(leader_epoch: int) -> str:
    """Return the name of the file that claims an epoch."""
    return f"epoch-{leader_epoch}"


def segment_offset(name: str) -> int | None:
    """Return a segment's base offset, or None if the name is not a segment's."""
    match = _SEGMENT.fullmatch(name)
    return int(match[1]) if match else None


def checkpoint_id(name: str) -> tuple[int, int] | None:
    """Return a checkpoint's end offset and leader epoch, or None for names of other files."""
    match = _CHECKPOINT.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def claimed_epoch(name: str) -> int | None:
    """Return the epoch of a claim file, or None if the name is not a claim's."""
    match = _CLAIM.fullmatch(name)
    return int(match[1]) if match else None


def segment_offsets(names: list[str]) -> list[int]:
    """Return the base offsets of all segments among the names, ascending."""
    return sorted(offset for name in names if (offset := segment_offset(name)) is not None)


def file_kind(name: str) -> str:
    """Return the kind of a file in words, such as `segments`.

    Returns the name itself if a log has only one file of that kind. The files that SQLite keeps
    beside a database count as part of the database.
    """
    if segment_offset(name) is not None:
        return "segments"
    if checkpoint_id(name) is not None:
        return "checkpoints"
    if claimed_epoch(name) is not None:
        return "epoch claims"
    if name.endswith(DERIVED_SUFFIXES):
        return "indexes"
    return name.removesuffix("-wal").removesuffix("-shm")
