"""`leader-epoch-checkpoint`: at which offset each leader epoch starts.

The log can be read without it; where it is there, it must not contradict the log. Kafka adds an
epoch to it before it writes the epoch's first batch.
"""

from pathlib import Path

from records.errors import CorruptLogError


class EpochStarts:
    """What the file says; nothing when there is none."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            CorruptLogError: it is not what Kafka writes.
        """
        self._path = path
        self._epoch_by_start = _read(path)

    def epoch_at(self, start_offset: int, *, expected: int) -> int | None:
        """Return the epoch that starts at an offset, None when none is said to.

        The file is read again when it does not say what is expected: the log may have grown
        since, or have been truncated and grown anew.
        """
        if self._epoch_by_start.get(start_offset) != expected:
            self._epoch_by_start = _read(self._path)
        return self._epoch_by_start.get(start_offset)


def _read(path: Path) -> dict[int, int]:
    """Read epochs by start offset: a version, a count, and a line `epoch start` for each."""
    try:
        text = path.read_text("ascii")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise _unreadable(path) from error
    match text.split():
        case ["0", count, *numbers] if all(number.isdigit() for number in (count, *numbers)):
            if len(numbers) == 2 * int(count):
                epochs, starts = numbers[::2], numbers[1::2]
                return {int(start): int(epoch) for start, epoch in zip(starts, epochs, strict=True)}
    raise _unreadable(path)


def _unreadable(path: Path) -> CorruptLogError:
    return CorruptLogError(
        f"{path} byte 0: this is no list of leader epochs; copy it from its node again, or remove "
        "it from the copy: the log can be read without it"
    )
