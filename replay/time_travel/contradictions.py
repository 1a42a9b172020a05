"""Error messages for contradictions: both records, and a command that shows the prior image."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from metadata_log.format.manifest import Kind
from records.errors import (
    ContradictionError,
    CorruptLogError,
    MetadataLogError,
    RecordPlace,
)
from replay.loader import BatchSource

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def explained(source: BatchSource) -> Iterator[None]:
    """Add details to a ContradictionError raised in the `with` block.

    Raises:
        ContradictionError: the log is a mirror; names both contradicting records.
        CorruptLogError: the log is no mirror, so it must not contain contradictions.
    """
    try:
        yield
    except ContradictionError as error:
        raise explanation(source, error) from error


def explains(function: F) -> F:
    """Decorate a function whose first argument is a log, so that it runs inside `explained`.

    If the function returns an iterator, that is also read inside `explained`.
    """

    @wraps(function)
    def call(source: BatchSource, *args: Any, **options: Any) -> Any:
        with explained(source):
            found = function(source, *args, **options)
        return _items(source, found) if isinstance(found, Iterator) else found

    return cast(F, call)


def _items(source: BatchSource, items: Iterator[Any]) -> Iterator[Any]:
    with explained(source):
        yield from items


def explanation(source: BatchSource, error: ContradictionError) -> MetadataLogError:
    """Return the error to raise for a contradiction that replay found in a log.

    Returns:
        For a mirror, a ContradictionError with the earlier record that set the contradicted state
        and the command that shows the image before. For a log that is not a mirror, a
        CorruptLogError.
    """
    if getattr(source, "kind", None) is Kind.OWN:
        return CorruptLogError(str(error))
    if error.image_before is not None or error.record is None:
        return error
    earlier = error.earlier or _maker(source, error, error.record.offset)
    return error.replaced(earlier=earlier, image_before=_image_before(source, error.record.offset))


def _maker(source: BatchSource, error: ContradictionError, offset: int) -> RecordPlace | None:
    """Return the last record before `offset` that changed the object the error names, or None."""
    if error.about is None or offset <= source.history_start:
        return None
    # Only an error needs it, and short commands load as little as they can.
    from replay.time_travel.object_events import last_event
    from replay.time_travel.objects import parse_object

    event = last_event(source, parse_object(error.about), offset)
    return None if event is None else RecordPlace.of(event.row)


def _image_before(source: BatchSource, offset: int) -> str | None:
    directory = getattr(source, "directory", None)
    if directory is None:
        return None
    at = "start" if offset <= source.history_start else offset - 1
    return f"metalog image {shlex.quote(str(directory))} --at {at}"
