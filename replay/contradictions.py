"""Error messages for contradictions: both records, and a command that shows the prior image."""

import shlex

from metadata_log.manifest import Kind
from records.errors import (
    ContradictionError,
    CorruptLogError,
    MetadataLogError,
    RecordPlace,
)
from replay.loader import BatchSource
from replay.time_travel.history import last_event
from replay.time_travel.objects import parse_object


def explanation(source: BatchSource, error: ContradictionError) -> MetadataLogError:
    """Return the complete error for a contradiction that replay found in a log.

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
    """Return the last record before `offset` that changed the object named in the error, or
    None.
    """
    if error.about is None or offset <= source.history_start:
        return None
    event = last_event(source, parse_object(error.about), offset)
    return None if event is None else RecordPlace.of(event.row)


def _image_before(source: BatchSource, offset: int) -> str | None:
    directory = getattr(source, "directory", None)
    if directory is None:
        return None
    at = "start" if offset <= source.history_start else offset - 1
    return f"metalog image {shlex.quote(str(directory))} --at {at}"
