"""`log-start-offset-checkpoint`: a file with the offset at which the log in a folder starts.

Kafka has one such file for each log directory. Here the file is in the partition's folder, so that
it moves with the folder when the topic is renamed or the folder becomes stale. Without a file, the
log starts at offset 0.

Source: KIP-107.
"""

from pathlib import Path

from api.broker.key_values import read_key_values, write_key_values
from records.errors import CorruptLogError

FILE_NAME = "log-start-offset-checkpoint"
_KEY = "log_start_offset"


def read_log_start(folder: Path) -> int:
    """Return the log's start offset from the folder's file; 0 if there is no file.

    Raises:
        CorruptLogError: the file cannot be read; the message gives its path and the right format.
    """
    path = folder / FILE_NAME
    try:
        text = read_key_values(path)[_KEY]
        if text.isascii() and text.isdigit():
            return int(text)
    except FileNotFoundError:
        return 0
    except (CorruptLogError, KeyError):
        text = ""
    raise CorruptLogError(
        f"{path}: {text!r} is no offset; write `{_KEY}: N`, N being the first offset to keep"
    )


def write_log_start(folder: Path, offset: int) -> None:
    """Write the log's start offset to the folder's file, atomically and durably.

    Raises:
        OSError: the disk failed.
    """
    write_key_values(folder / FILE_NAME, {_KEY: offset})
