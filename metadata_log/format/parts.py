"""`parts.json`: the earlier parts of a recording, and the gaps between its parts.

A log has no gaps. When a quorum has removed records that its mirror lacks, a new mirror begins with
the quorum's snapshot, and the mirrors are the parts of one recording. The newest part has the
recording's name; earlier ones are folders beside it, which never change again:

    prod.part-1/     offsets 0 to 4,106
    prod.part-2/     offsets 9,300 to 12,011, and the list: part 1 and the gap after it
    prod/            offsets 80,000 and on, and the list: part 1, part 2, and the gaps after them
"""

from pathlib import Path

import msgspec

from metadata_log.files.fs import ByteStore
from metadata_log.files.json_file import indented_json, read_json
from metadata_log.files.names import PARTS
from records.errors import RequestError

BEHIND_LOG_START = "BEHIND_LOG_START"
"""Reason of a gap: the leader's log started above the end of the recorded records."""

_VERSION = 1
_REMEDY = "copy it from a backup of the mirror; docs/importing_over_the_network.md describes it"


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets [from_offset, to_offset) that a recording lacks.

    Attributes:
        from_offset: The end of the records that were confirmed before the gap, exclusive.
        from_epoch, from_time: Leader epoch, and time in ms since 1970, of the last record before
            the gap; the time is None if there is no record.
        to_offset: The end of the snapshot with which the next part begins, exclusive.
        to_epoch, to_time: Leader epoch, and time in ms since 1970, of the snapshot's last record.
        found_time: When the gap was found, ms since 1970.
        source: Address of the leader that no longer had the records.
        log_start_offset: Start of the leader's log when the gap was found.
        leader_epoch: The leader's epoch when the gap was found.
        reason: Why the records are missing.
    """

    from_offset: int
    from_epoch: int
    from_time: int | None
    to_offset: int
    to_epoch: int
    to_time: int
    found_time: int
    source: str
    log_start_offset: int
    leader_epoch: int
    reason: str = BEHIND_LOG_START


class EarlierPart(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier part of a recording: its folder, and the gap after it.

    The folder is beside the newest part's folder.
    """

    folder: str
    gap: Gap


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `parts.json`: the earlier parts of a recording, oldest first."""

    version: int = _VERSION
    earlier: tuple[EarlierPart, ...] = ()


def parts_json(parts: Parts) -> bytes:
    """Return the content of `parts.json`."""
    return indented_json(parts)


def earlier_parts(fs: ByteStore, directory: Path) -> tuple[EarlierPart, ...]:
    """Return the earlier parts of a mirror's recording, oldest first; empty if there are none.

    Raises:
        RequestError: the file was written by a newer release.
        CorruptLogError: the file is damaged.
    """
    try:
        found = read_json(fs, directory / PARTS, Parts, _REMEDY)
    except FileNotFoundError:
        return ()
    if found.version > _VERSION:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"{directory / PARTS} has version {found.version}, but this release reads only up to "
            f"{_VERSION}; use a newer release",
        )
    return found.earlier
