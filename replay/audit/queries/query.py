"""An audit query: SQL over the views (views.py), and the columns of its result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Parameter = int | str


class Column(NamedTuple):
    """A column of a result.

    Attributes:
        type: As Spark names it.
        about: What it holds.
        unit: Empty for a number without a unit.
        null: What null means; empty if it is never null.
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
        description: One line.
        sql: Names the parameters as `:name`.
        columns: Of the result, in their order.
        reads: The views in `sql`.
        parameters: Default values; a value given must be of the same type.
        readers: By parameter, what turns the text given into the text that the SQL reads. Raise
            RequestError.
        compares_states: True if it compares the state before the range with that at its end.
    """

    name: str
    description: str
    sql: str
    columns: Columns
    reads: tuple[str, ...] = ("changes",)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    readers: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    compares_states: bool = False


RECORD: Columns = {
    "offset": Column("bigint", "of the record"),
    "time": Column("timestamp", "when the record was appended"),
}
NAME = Column("string", "the object's key; topics go by their full name at that offset")
ID = Column("string", "the object's key; topics go by their id")
OBJECT: Columns = {"name": NAME, "id": ID}
KIND = Column("string", "the object's part in docs/digest.md")
RECORD_TYPE = Column("string", "type of the record")
ORIGIN: Columns = {
    "principal": Column("string", "who asked for the change", null="unknown"),
    "command": Column("string", "what was asked", null="unknown"),
    "reason": Column("string", "why, as given by the caller", null="none was given"),
}
HOUR = Column("timestamp", "start of the hour, in UTC")
LASTED_NULL = "it still lasts"
