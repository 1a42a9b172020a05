"""The view `found_after_gap`: the fields that differ after each gap of a recording.

A difference is between two states, at the end of the part before the gap and at the start of the
part after it: when, in which order and by whom a field was changed is not known.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from metadata_log.files.names import MANIFEST
from metadata_log.format.parts import Gap
from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError
from replay.audit.committed_files import readable_files
from replay.audit.log_files import LogFiles
from replay.audit.relations import SCHEMA, readable_columns

_OF_STATE = ("kind", "id", "name", "field", "before", "after")

FOUND_SCHEMA = {
    "from_offset": "The gap, in gaps.from_offset.",
    **{name: SCHEMA[name] for name in ("kind", "id", "name", "field")},
    "before": "The value before the gap; null: there was none.",
    "after": "The value after the gap; null: there is none.",
}
"""The comments of the view's columns, in order."""


class Side(NamedTuple):
    """The state at an offset, inclusive, of a part of a recording."""

    files: LogFiles
    at: int


class Crossing(NamedTuple):
    """A gap, and the states on both sides of it."""

    gap: Gap
    before: Side
    after: Side


def crossings(files: LogFiles) -> list[Crossing]:
    """Return the gaps between the parts of a recording, oldest first.

    Raises:
        UnknownHistoryError: an earlier part is not beside the log; names its folder.
        CorruptLogError: an earlier part is damaged.
    """
    parts = [*_earlier_files(files), files]
    return [
        Crossing(
            each.gap, Side(before, each.gap.from_offset - 1), Side(after, each.gap.to_offset - 1)
        )
        for each, before, after in zip(files.earlier, parts, parts[1:], strict=False)
    ]


def _earlier_files(files: LogFiles) -> Iterable[LogFiles]:
    for part in files.earlier:
        assert files.folder is not None, "only a local log lists parts"
        folder = files.folder.with_name(part.folder)
        if not (folder / MANIFEST).exists():
            raise UnknownHistoryError(
                f"what was recorded before offset {part.gap.from_offset} is not in {folder}; put "
                "that folder back beside the log"
            )
        with LogReader.open(folder) as reader:
            yield readable_files(reader, None, lambda path, size: None)


def found_sql(found: Sequence[tuple[int, str, str]], *, show_secrets: bool = False) -> str:
    """Return the SQL of the view.

    Args:
        found: For each gap its first offset, and the names of two relations `net_changes`, with
            secrets, of all changes up to each side.
    """
    columns = ", ".join(readable_columns(_OF_STATE, redacts=not show_secrets))
    nothing = ", ".join(f"CAST(null AS string) AS {name}" for name in _OF_STATE)
    selects = [
        f"SELECT CAST({offset} AS bigint) AS from_offset, {columns} FROM ({_differing(*sides)})"
        for offset, *sides in found
    ]
    empty = f"SELECT CAST(null AS bigint) AS from_offset, {nothing} WHERE false"
    return " UNION ALL ".join(selects or [empty])


def _differing(before: str, after: str) -> str:
    key = ("kind", "id", "field")
    same = " AND ".join(f"b.{name} = a.{name}" for name in key)
    named = ", ".join(f"coalesce(a.{name}, b.{name}) AS {name}" for name in (*key, "name"))
    return (
        f"SELECT {named}, b.after AS before, a.after AS after FROM {before} b "
        f"FULL OUTER JOIN {after} a ON {same} WHERE b.after IS DISTINCT FROM a.after"
    )
