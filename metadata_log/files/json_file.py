"""Small JSON files of a log, its backups and archives: typed, with limits on size and nesting."""

from pathlib import Path
from typing import TypeVar

import msgspec

from metadata_log.files.fs import ByteStore, Fs, read_start, write_whole
from records.errors import CorruptLogError

T = TypeVar("T")

# The list of an archive's files is the longest: this limit allows about 400,000 segments.
_SIZE_BYTES_MAX = 64 * 1024 * 1024


def read_json(fs: ByteStore, path: Path, kind: type[T], remedy: str) -> T:
    """Read a JSON file of type `kind`.

    Args:
        remedy: Advice for the error message, if the file cannot be read.

    Raises:
        FileNotFoundError: there is no such file.
        CorruptLogError: the file is not JSON of this type, or is too large or too deeply nested.
    """
    content = read_start(fs, path, _SIZE_BYTES_MAX + 1)
    if len(content) > _SIZE_BYTES_MAX:
        raise _damaged(path, f"the file is larger than {_SIZE_BYTES_MAX} bytes", remedy)
    try:
        return msgspec.json.decode(content, type=kind)
    except RecursionError:
        raise _damaged(path, "JSON is nested too deeply", remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error), remedy) from error


def write_json(fs: Fs, path: Path, value: object) -> None:
    """Atomically write a value as indented JSON."""
    write_whole(fs, path, indented_json(value))


def indented_json(value: object) -> bytes:
    """Return a value as indented JSON, with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _damaged(path: Path, what: str, remedy: str) -> CorruptLogError:
    return CorruptLogError(f"{path} byte 0: {what}; {remedy}")
