"""Row filters of queries, applied by the workers, so that rows a query drops never reach Java.

A filter is a function from rows to a mask of the rows to keep. It may keep more rows than the query
needs, because the query applies its own condition again.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow.compute as pc

Where = Callable[[Any], Any]
"""Takes a table or a batch of rows, and returns a mask."""

_Work = Callable[..., Iterator[Any]]
"""Yields tables or batches of rows."""


def needed(work: _Work, first: int, where: Where | None) -> _Work:
    """Return `work` limited to rows from offset `first` on that pass the filter `where`, if any."""
    if first:
        work = partial(_where, work, partial(_is_from, first))
    return work if where is None else partial(_where, work, where)


def _where(work: _Work, where: Where, *arguments: Any, **options: Any) -> Iterator[Any]:
    for rows in work(*arguments, **options):
        yield rows.filter(where(rows))


def _is_from(first: int, changes: Any) -> Any:
    return pc.greater_equal(changes["offset"], first)


def unexplained(changes: Any) -> Any:
    """Return a mask of the changes in effect whose principal or reason is unknown."""
    is_unknown = pc.or_(changes["principal"].is_null(), changes["reason"].is_null())
    return pc.and_(changes["in_effect"], is_unknown)


def removed(changes: Any) -> Any:
    """Return a mask of the changes in effect that removed a field's value.

    A RemoveTopicRecord counts only for the topic itself, not for its partitions and configs.
    """
    is_other = pc.not_equal(changes["record"], "RemoveTopicRecord")
    is_alone = pc.or_(is_other, pc.equal(changes["kind"], "topics"))
    return pc.and_(pc.and_(changes["in_effect"], changes["after"].is_null()), is_alone)
