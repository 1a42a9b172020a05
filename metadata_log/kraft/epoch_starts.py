"""`leader-epoch-checkpoint`: the start offset of each leader epoch.

The log can be read without this file; if the file exists, it must not contradict the log. Kafka
adds an epoch to the file before writing the epoch's first batch.
"""

from pathlib import Path

from records.errors import CorruptLogError

# A line is some 20 bytes, and there is one for each election.
_SIZE_BYTES_MAX = 16 * 1024 * 1024
_DIGITS_MAX = 19


class EpochStarts:
    """Content of `leader-epoch-checkpoint`; empty if the file does not exist."""

    def __init__(self, path: Path) -> None:
        """Read `leader-epoch-checkpoint`, if the file exists.

        Raises:
            CorruptLogError: the file does not have the form that Kafka writes.
        """
        self._path = path
        self._start_by_epoch = read_epoch_starts(path)

    def agrees(self, leader_epoch: int, start_offset: int) -> bool | None:
        """True if the file has this start offset for the epoch; None if it does not list the epoch.

        The file is read again before False is returned: the log may have grown since, or have been
        truncated and grown again.
        """
        if not self._agrees(leader_epoch, start_offset):
            self._start_by_epoch = read_epoch_starts(self._path)
        return self._agrees(leader_epoch, start_offset)

    def _agrees(self, leader_epoch: int, start_offset: int) -> bool | None:
        start = self._start_by_epoch.get(leader_epoch)
        if start is None:
            return False if start_offset in self._start_by_epoch.values() else None
        if start > start_offset and leader_epoch == min(self._start_by_epoch):
            # When Kafka cleans the head of its log, it moves the first start to the new head,
            # though the segment may go further back.
            return None
        return start == start_offset


def read_epoch_starts(path: Path) -> dict[int, int]:
    """Return start offsets by epoch, empty if there is no file.

    The file has a version, a count, and a line `epoch start` for each epoch.

    Raises:
        CorruptLogError: the file does not have the form that Kafka writes.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_SIZE_BYTES_MAX + 1)
    except FileNotFoundError:
        return {}
    if len(content) > _SIZE_BYTES_MAX:
        raise _unreadable(path)
    match content.split():
        case []:
            return {}
        case [b"0", count, *numbers] if all(map(_is_number, (count, *numbers))):
            if len(numbers) == 2 * int(count):
                pairs = zip(numbers[::2], numbers[1::2], strict=True)
                return {int(epoch): int(start) for epoch, start in pairs}
    raise _unreadable(path)


def _is_number(word: bytes) -> bool:
    return word.isdigit() and len(word) <= _DIGITS_MAX


def _unreadable(path: Path) -> CorruptLogError:
    return CorruptLogError(
        f"{path} byte 0: this is no list of leader epochs; copy it from its node again, or remove "
        "it from the copy: the log can be read without it"
    )
