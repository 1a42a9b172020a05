"""An audit query: SQL over the views (views.py), and the columns of its result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from replay.audit.fold.needed import Where
from replay.audit.part_fields import PARTS
from replay.audit.selection import Selection

Parameter = int | str

_STATE = frozenset({*PARTS, "part_digests"})
"""The views of the state at the end of the range."""


class Column(NamedTuple):
    """A column of a query's result.

    Attributes:
        type: Spark's name of the type.
        about: Description of the values.
        unit: Unit of the values; empty for a number without a unit.
        null: Meaning of null; empty if the column is never null.
    """

    type: str
    about: str
    unit: str = ""
    null: str = ""


Columns = dict[str, Column]


@dataclass(frozen=True)
class Query:
    """An audit query.

    Attributes:
        description: Description of the answer in one line.
        sql: The query, in a part of Spark's dialect that both engines read; it refers to the
            parameters as `:name`.
        columns: The columns of the result, in order.
        reads: The views that `sql` reads.
        kinds: The kinds of objects whose changes the query needs; empty for all.
        fields: The fields of partitions whose changes the query needs; empty for all.
        where: A filter of the view that the query reads; keeps all rows that the query needs.
        parameters: Default values; a given value must have the same type as the default.
        readers: By parameter, a function that converts the given text to the text used in the SQL.
            It raises RequestError for bad input.
        compares_states: True if the query compares the states before and at the end of the range.
        duckdb: The query in DuckDB's own dialect, if its engine cannot read `sql`.
    """

    name: str
    description: str
    sql: str
    columns: Columns
    reads: tuple[str, ...] = ("changes",)
    kinds: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    where: Where | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    readers: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    compares_states: bool = False
    duckdb: str | None = None

    @property
    def is_of_state(self) -> bool:
        """True if the answer is about the state at the end of the range alone."""
        return _STATE.issuperset(self.reads)

    @property
    def selection(self) -> Selection:
        """The part of the changes or states that the query needs."""
        return Selection.of_sql(self.sql, self.kinds, self.fields, self.where)


RECORD: Columns = {
    "offset": Column("bigint", "of the record"),
    "time": Column("timestamp", "when the record was appended"),
}
NAME = Column(
    "string", "the object's key; topics and namespaces go by their full names at that offset"
)
ID = Column("string", "the object's key; topics and namespaces go by their ids")
OBJECT: Columns = {"name": NAME, "id": ID}
KIND = Column("string", "the object's part in docs/digest.md")
RECORD_TYPE = Column("string", "type of the record")
ORIGIN: Columns = {
    "principal": Column("string", "by whose request the record was written", null="unknown"),
    "command": Column("string", "what was asked", null="unknown"),
    "reason": Column("string", "why, as given by the caller", null="none was given"),
}
ASKED: Columns = {
    "asked_offset": Column(
        "bigint", "of the record that asked for what this one did", null="no other record did"
    ),
    "asked_principal": Column("string", "who asked there", null="unknown, or nobody did"),
    "asked_reason": Column("string", "why", null="none was given, or nobody asked"),
}
HOUR = Column("timestamp", "start of the hour, in UTC")
