"""Conditions of queries, checked by the workers: rows that a query drops never reach Java.

A condition may keep more rows than its query, which checks its own again. It takes rows, and
returns a mask of those to keep.
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
    """Return work that yields only rows from the offset `first` on for which a condition holds."""
    if first:
        work = partial(_where, work, partial(_is_from, first))
    return work if where is None else partial(_where, work, where)


def _where(work: _Work, where: Where, *arguments: Any, **options: Any) -> Iterator[Any]:
    for rows in work(*arguments, **options):
        yield rows.filter(where(rows))


def _is_from(first: int, changes: Any) -> Any:
    return pc.greater_equal(changes["offset"], first)


def unexplained(changes: Any) -> Any:
    """True if the principal or the reason is unknown."""
    is_unknown = pc.or_(changes["principal"].is_null(), changes["reason"].is_null())
    return pc.and_(changes["in_effect"], is_unknown)


def removed(changes: Any) -> Any:
    """True if a field lost its value, unless its topic was removed and it is not the topic's."""
    is_other = pc.not_equal(changes["record"], "RemoveTopicRecord")
    is_alone = pc.or_(is_other, pc.equal(changes["kind"], "topics"))
    return pc.and_(pc.and_(changes["in_effect"], changes["after"].is_null()), is_alone)
