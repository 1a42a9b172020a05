"""Groups and positions as values and rows of PostgreSQL."""

import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec

from metadata_log.shared.shared_log import (
    EMPTY,
    GROUP_SIZE_BYTES_MAX,
    Entry,
    Group,
    Position,
)


def values_of(group: Group) -> dict[str, Any]:
    """Return the values of the columns of a group."""
    entries = msgspec.msgpack.encode(group.entries) if group.entries else b""
    assert len(entries) <= GROUP_SIZE_BYTES_MAX
    return {
        "number": group.number,
        "epoch": group.epoch,
        "nonce": group.nonce,
        "end_offset": group.end_offset,
        "crc32c": group.crc32c,
        "entries": entries,
    }


def position_of(rows: Sequence[Any]) -> Position:
    """Return the end after the group of the first row; EMPTY if there is none."""
    if not rows:
        return EMPTY
    number, epoch, end_offset, crc32c = rows[0]
    return Position(number=number + 1, epoch=epoch, end_offset=end_offset, crc32c=crc32c)


def told_by(notification: str | None) -> Position | None:
    """Return the end that a notification tells; None if it tells none, as one of release 0.1.0."""
    if not notification:
        return None
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(notification, type=Position)
    return None


def group_of(row: Any) -> Group:
    """Return the group of a row: of the columns of `values_of`."""
    number, epoch, nonce, end_offset, crc32c, entries = row
    return Group(
        number=number,
        epoch=epoch,
        nonce=nonce,
        end_offset=end_offset,
        crc32c=crc32c,
        entries=msgspec.msgpack.decode(entries, type=tuple[Entry, ...]) if entries else (),
    )
