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


class _Notification(msgspec.Struct):
    """A log's new end. A channel is of the whole database, which may have several logs."""

    log_id: str
    end: Position


def notification_of(log_id: str, end: Position) -> str:
    """Return the notification of a log's new end."""
    return msgspec.json.encode(_Notification(log_id, end)).decode()


def told_by(notifications: Sequence[str], log_id: str) -> Position:
    """Return the highest end of a log that notifications tell; EMPTY if they tell none."""
    told = [EMPTY]
    for each in notifications:
        with contextlib.suppress(msgspec.DecodeError):
            found = msgspec.json.decode(each, type=_Notification)
            if found.log_id == log_id:
                told.append(found.end)
    return max(told, key=lambda end: end.number)


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
