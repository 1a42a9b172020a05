"""Hides host names in printed records, so that the output can be given to others."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace as replaced

from api.questions.host_mask import HostMask
from api.questions.rows import DUMP, Row, ShowRows

if TYPE_CHECKING:
    from api.cli.source.source import Source


def row_mask(log: "Source", to: str, *, asked: bool) -> "Callable[[Row], Row]":
    """Return a function that replaces the hosts in a record.

    First reads the whole log up to `to`, because a record may contain a host known only from an
    earlier record.

    Args:
        to: The last point to read.
        asked: True if the records are printed with their requests (`asked`).
    """

    mask = HostMask()
    for row in log.ask(DUMP, ShowRows(asked=asked), at=to).items:
        mask.learn(row.data)
        for more in (row.origin, row.asked, row.by_table and row.by_table.fields):
            if isinstance(more, dict):
                mask.learn(more)
    replace = mask.replacing()

    def masked(row: "Row") -> "Row":
        found = replaced(row, data=replace(row.data), origin=replace(row.origin))
        if found.asked is not UNSET:
            found = replaced(found, asked=replace(found.asked))
        if found.by_table is not UNSET:
            fields = replace(found.by_table.fields)
            found = replaced(found, by_table=replaced(found.by_table, fields=fields))
        return found

    return masked
