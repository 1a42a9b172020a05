"""The tables of a mirror: Kafka's files about record types that this release does not know.

They are stored unchanged, in one file of the mirror, so that every later command can show records
of these types with their fields. Without the tables such records are shown raw; nothing else
depends on the tables.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from metadata_log.files.fs import ByteStore, OsFs
from metadata_log.files.json_file import read_json, write_json
from metadata_log.files.names import KRAFT_TABLES
from records.errors import CorruptLogError, RequestError
from records.kafka.tables import Table, TableError, Tables, parse_table

_REMEDY = "import again with --tables DIR, or remove the file: records are then shown raw"


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a mirror's table file: the text of each table, by file name."""

    files: dict[str, str]


def read_table_files(directory: Path) -> dict[str, str]:
    """Read and check the `*.json` files of a directory that describe metadata records.

    Returns:
        The texts of these files, by file name.

    Raises:
        RequestError: INVALID_REQUEST, a file is no table, or there is no table; names file and
            place.
    """
    try:
        texts = {path.name: path.read_text() for path in sorted(directory.glob("*.json"))}
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(f"the tables in {directory} cannot be read: {error}") from error
    try:
        tables = _parsed(texts)
    except TableError as error:
        raise _refused(f"{directory}/{error}") from error
    if not tables:
        raise _refused(
            f"{directory} has no *.json file with a record type of Kafka's metadata; name the "
            "folder metadata/src/main/resources/common/metadata of the fork"
        )
    return {name: texts[name] for name in tables}


def keep_tables(log: Path, texts: Mapping[str, str]) -> None:
    """Store tables in a mirror; they replace the tables stored there before."""
    write_json(OsFs(), log / KRAFT_TABLES, _Kept(files=dict(texts)))


def kept_tables(fs: ByteStore, log: Path) -> Tables:
    """Return the tables stored in a log; empty if it has no table file.

    Raises:
        CorruptLogError: the file is damaged.
    """
    path = log / KRAFT_TABLES
    try:
        texts = read_json(fs, path, _Kept, _REMEDY).files
    except FileNotFoundError:
        return Tables()
    try:
        return Tables(_parsed(texts).values())
    except TableError as error:
        raise CorruptLogError(f"{path} byte 0: {error}; {_REMEDY}") from error


def _parsed(texts: Mapping[str, str]) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    file_of: dict[int, str] = {}
    for name, text in texts.items():
        try:
            table = parse_table(text)
        except TableError as error:
            raise TableError(f"{name}: {error}") from error
        if table is None:
            continue
        other = file_of.setdefault(table.api_key, name)
        if other != name:
            raise TableError(f"{name}: apiKey {table.api_key} is also that of {other}")
        tables[name] = table
    return tables


def _refused(what: str) -> RequestError:
    return RequestError("INVALID_REQUEST", what)
