"""Small readable files of `key: value` lines, replaced atomically."""

from collections.abc import Mapping
from pathlib import Path

from metadata_log.files.fs import OsFs, write_whole
from records.errors import CorruptLogError

_SIZE_BYTES_MAX = 64 * 1024
"""Largest file that is read; a few lines of names and ids need much less."""


def read_key_values(path: Path) -> dict[str, str]:
    """Return the keys and values in a file.

    Raises:
        FileNotFoundError: the file does not exist.
        CorruptLogError: the file is not text or too large, or a line is not `key: value`; the
            message gives file and line.
    """
    values: dict[str, str] = {}
    for number, line in enumerate(_read(path).splitlines(), 1):
        key, separator, value = line.partition(": ")
        if not separator or not key:
            raise CorruptLogError(f"{path} line {number}: {line!r} is not `key: value`")
        values[key] = value
    return values


def _read(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(_SIZE_BYTES_MAX + 1)
    if len(content) > _SIZE_BYTES_MAX:
        raise CorruptLogError(f"{path}: larger than {_SIZE_BYTES_MAX} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CorruptLogError(f"{path}: {error}") from error


def write_key_values(path: Path, values: Mapping[str, object]) -> None:
    """Atomically write or replace a file, and fsync it."""
    write_whole(OsFs(), path, "".join(f"{k}: {v}\n" for k, v in values.items()).encode())
