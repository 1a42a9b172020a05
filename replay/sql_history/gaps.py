"""Gaps of a recording in the tables: within a gap no state is valid, because none is known.

Every state before a gap ends where the gap starts. New states begin with the snapshot after the
gap, even for objects that are the same on both sides.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, select, update

from metadata_log.format.parts import Gap
from records.errors import UnknownHistoryError
from replay.sql_history.many_rows import insert_rows
from replay.sql_history.tables import VERSION_TABLES, found_after_gap, gap_table


class FoundAfterGap(msgspec.Struct, frozen=True):
    """A field that differs after a gap; `before` and `after` have no secrets."""

    object: str
    field: str
    fate: str
    before: Any
    after: Any


def write_gap(connection: Connection, gap: Gap, found: Sequence[FoundAfterGap]) -> None:
    """Write a gap and the differences found after it; end all states where the gap starts."""
    connection.execute(insert(gap_table), msgspec.structs.asdict(gap))
    columns = [each.name for each in found_after_gap.columns]
    rows = [
        (
            gap.from_offset,
            number,
            *(each.object, each.field, each.fate),
            *(msgspec.json.encode(value).decode() for value in (each.before, each.after)),
        )
        for number, each in enumerate(found)
    ]
    insert_rows(connection, found_after_gap, columns, rows)
    # The last record before the gap still has these states.
    ended_time = None if gap.from_time is None else gap.from_time + 1
    for each in VERSION_TABLES.values():
        table = each.table
        connection.execute(
            update(table)
            .where(table.c.valid_to_offset.is_(None))
            .values(valid_to_offset=gap.from_offset, valid_to_time=ended_time)
        )


def check_not_in_gap(connection: Connection, at: int) -> None:
    """Check that the tables have a state as of offset `at`.

    Raises:
        UnknownHistoryError: the offset is in a gap; names the gap's first and last offset.
    """
    # The state at the end of the snapshot is that of the last missing offset.
    start, end = gap_table.c.from_offset, gap_table.c.to_offset
    query = select(start, end).where(start <= at, at < end - 1)
    for from_offset, to_offset in connection.execute(query):
        raise UnknownHistoryError(
            f"offset {at} is unknown: it is in the gap from offset {from_offset} to "
            f"{to_offset - 1}, which was not recorded"
        )
