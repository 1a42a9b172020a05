"""Formats one row of the log as JSON and as a line of text."""

from typing import TYPE_CHECKING

from api.cli.options.parameters import bad_parameter
from api.cli.source.origins import origin_text
from api.cli.terminal.output import time_text, value_text
from records import registry
from records.json import default_fields

if TYPE_CHECKING:
    from api.questions.rows import Row, RowByTable


def check_types(names: list[str]) -> None:
    """Check that these record types exist."""
    for name in names:
        if name not in registry.BY_NAME:
            raise bad_parameter(f"{name!r} is not a record type", param_hint="--type")


def row_text(row: "Row") -> str:
    """Return a row as one line of text.

    It has the offset, epoch, time, type, and the fields that differ from their defaults.
    """
    defaults = default_fields(registry.BY_NAME[row.type])
    fields = {
        name: value
        for name, value in row.data.items()
        if name not in defaults or defaults[name] != value
    }
    parts = [f"{name}={value_text(value)}" for name, value in fields.items()]
    if row.origin:
        parts.append(f" by {origin_text(row.origin)}")
    if row.asked:
        parts.append(f" asked {value_text(row.asked)}")
    if row.by_table:
        parts.append(_by_table_text(row.by_table))
    where = f"{row.offset:>8} {row.leader_epoch:>4} {time_text(row.timestamp)}"
    return " ".join([where, row.type, *parts])


def _by_table_text(found: "RowByTable") -> str:
    """Return a record decoded by a mirror's table, such as `= ThingRecord name=x, not replayed`."""
    if found.fields is None:
        return f" = {found.type}, but {found.error}"
    fields = [f"{name}={value_text(value)}" for name, value in found.fields.items()]
    return " " + " ".join(["=", found.type, *fields]) + ", not replayed"
