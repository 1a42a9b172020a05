"""Buffer of rows that are written to the tables together."""

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
from sqlalchemy import (
    Connection,
    Table,
    bindparam,
    delete,
    func,
    literal_column,
    not_,
    select,
    true,
    update,
)

from replay.image.metadata import MetadataImage
from replay.sql_history.changes import ChangeRow, NewState, Run, state_key
from replay.sql_history.columns import row_encoder, state_encoder
from replay.sql_history.many_rows import Row, execute_rows, insert_new_rows, insert_rows
from replay.sql_history.tables import VALIDITY, VERSION_TABLES, VersionTable, change


class Pending:
    """The rows that some runs of a log add to the tables.

    Attributes:
        changes: The rows of the table `change`.
    """

    def __init__(self, *, confirmed: bool = True) -> None:
        """Create an empty buffer.

        Args:
            confirmed: False if Kafka may still replace the records.
        """
        self.changes: list[ChangeRow] = []
        self._confirmed = confirmed
        self._states = [_States(each, confirmed=confirmed) for each in VERSION_TABLES.values()]
        self._by_part = dict(zip(VERSION_TABLES, self._states, strict=True))

    @property
    def length(self) -> int:
        """The number of rows to write."""
        return len(self.changes) + sum(len(each.states) for each in self._states)

    @property
    def counts(self) -> dict[str, int]:
        """The number of new states by table; tables without new states are left out."""
        return {each.of.table.name: len(each.states) for each in self._states if each.states}

    @property
    def replaced(self) -> dict[str, int]:
        """The number of existing rows by table in which an end offset will be set."""
        return {each.of.table.name: each.ended for each in self._states if each.ended}

    def add_base(self, image: MetadataImage) -> None:
        """Add all objects of the base state, with which the log starts."""
        offset = image.provenance.next_offset - 1
        for part, states in self._by_part.items():
            for value in states.of.part.rows(image):
                states.begin(state_key(part, value), value, offset, offset, None)

    def add(self, run: Run) -> None:
        """Add the records and new states of a run."""
        self.changes += run.rows
        for state in run.states:
            self._by_part[state.part].add(state)

    def write(self, connection: Connection) -> None:
        """Write all buffered rows."""
        rows = list(map(_change_row, self.changes))
        insert_rows(connection, change, *_marked(_CHANGE_COLUMNS, rows, confirmed=self._confirmed))
        for states in self._states:
            states.write(connection)


def remove_unconfirmed(connection: Connection, from_offset: int) -> None:
    """Undo the effects of unconfirmed records at or after `from_offset` on the tables."""
    connection.execute(delete(change).where(not_(change.c.confirmed)))
    for each in VERSION_TABLES.values():
        table = each.table
        unconfirmed = not_(table.c.confirmed)
        begun = table.c.record_offset >= from_offset
        connection.execute(delete(table).where(unconfirmed, begun))
        reopened = {"valid_to_offset": None, "valid_to_time": None, "confirmed": true()}
        connection.execute(update(table).where(unconfirmed).values(reopened))


class _State(msgspec.Struct, gc=False):
    """A new row. It contains no reference to a container, so the garbage collector skips it."""

    value: Any
    record_offset: int
    valid_from_offset: int
    valid_from_time: int | None
    valid_to_offset: int | None = None
    valid_to_time: int | None = None


class _States:
    """New rows of one table, and new end offsets for rows that the table already has."""

    def __init__(self, of: VersionTable, *, confirmed: bool) -> None:
        self.of = of
        self._confirmed = confirmed
        self.states: list[_State] = []
        self._ends: list[Row] = []
        self._open: dict[Hashable, _State] = {}
        self._encode, self._encode_key = _ENCODERS[of.part.name]

    @property
    def ended(self) -> int:
        """The number of existing rows in which an end offset will be set."""
        return len(self._ends)

    def add(self, state: NewState) -> None:
        """Add a state, and set the end of the object's previous state."""
        row, at = state.cause.row, state.cause.effective
        if state.before is not None:
            before = self._open.pop(state.key, None)
            if before is None:
                key = self._encode_key(state.before)
                self._ends.append((at.offset, at.timestamp, *key, *key))
            else:
                before.valid_to_offset, before.valid_to_time = at.offset, at.timestamp
        if state.after is not None:
            self.begin(state.key, state.after, row.offset, at.offset, at.timestamp)

    def begin(
        self,
        key: Hashable,
        value: Any,
        record_offset: int,
        from_offset: int,
        from_time: int | None,
    ) -> None:
        """Add a state that is valid from an offset on."""
        state = self._open[key] = _State(value, record_offset, from_offset, from_time)
        self.states.append(state)

    def write(self, connection: Connection) -> None:
        """Write the end offsets, then the new rows.

        The order matters, because an end is set on the newest row that an object has in the table.
        """
        table, keys = self.of.table, [each.name for each in self.of.key]
        ends = [
            "to_offset",
            "to_time",
            *(f"{name}_1" for name in keys),
            *(f"{name}_2" for name in keys),
        ]
        if self._ends:
            ending = _end_newest(table, keys, confirmed=self._confirmed)
            execute_rows(connection, ending, ends, self._ends)
        # In the order of the primary key, each page is written once.
        columns = [*(each.name for each in self.of.fields), *VALIDITY]
        in_order = itemgetter(*(columns.index(name) for name in (*keys, "record_offset")))
        if self.states:
            rows = list(map(self._encode, self.states))
            if self.of.shared is not None:
                self._write_shared(connection, self.of.shared, rows)
            rows.sort(key=in_order)
            insert_rows(connection, table, *_marked(columns, rows, confirmed=self._confirmed))

    def _write_shared(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        """Write the rows of `table` that the new states refer to and that it lacks."""
        reference = len(self.of.fields) - 1
        new = {row[reference]: state.value for row, state in zip(rows, self.states, strict=True)}
        encode = _SHARED_ENCODERS[self.of.part.name]
        columns = [each.name for each in table.columns]
        insert_new_rows(
            connection, table, columns, [(key, *encode(value)) for key, value in new.items()]
        )


def _marked(
    columns: Sequence[str], rows: Sequence[Row], *, confirmed: bool
) -> tuple[Sequence[str], Sequence[Row]]:
    """Return columns and rows, with the column `confirmed` added if they are unconfirmed.

    Confirmed rows, which nearly all are, get the column's default.
    """
    if confirmed:
        return columns, rows
    return [*columns, "confirmed"], [(*row, False) for row in rows]


def _end_newest(table: Table, keys: Sequence[str], *, confirmed: bool) -> Any:
    """Return the statement that sets the end of an object's newest state."""
    other = table.alias()
    newest = select(func.max(other.c.record_offset)).where(
        *(other.c[name] == bindparam(f"{name}_2") for name in keys)
    )
    mark: dict[str, Any] = {} if confirmed else {"confirmed": literal_column("FALSE")}
    return (
        update(table)
        .values(valid_to_offset=bindparam("to_offset"), valid_to_time=bindparam("to_time"), **mark)
        .where(
            *(table.c[name] == bindparam(f"{name}_1") for name in keys),
            table.c.record_offset == newest.scalar_subquery(),
        )
    )


_CHANGE_COLUMNS = [column.name for column in change.columns if column.name != "confirmed"]
_ORIGIN = attrgetter(*_CHANGE_COLUMNS[4:])
_NO_ORIGIN = (None,) * len(_CHANGE_COLUMNS[4:])


def _change_row(found: ChangeRow) -> Row:
    row = found.row
    effective_offset = found.effective.offset if found.in_effect else None
    origin = _NO_ORIGIN if row.origin is None else _ORIGIN(row.origin)
    return row.offset, row.timestamp, type(row.payload).__name__, effective_offset, *origin


_Encoder = Callable[[Any], tuple[Any, ...]]

_ENCODERS: dict[str, tuple[_Encoder, _Encoder]] = {
    part: (state_encoder(each.fields, VALIDITY), row_encoder(each.key))
    for part, each in VERSION_TABLES.items()
}

_SHARED_ENCODERS = {
    part: row_encoder(each.shared_fields)
    for part, each in VERSION_TABLES.items()
    if each.shared is not None
}
