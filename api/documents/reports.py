"""JSON form of the result of writing a report."""

import msgspec
from msgspec import UNSET, UnsetType

from metadata_log.format.parts import Gap


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A report's file.

    `records` is the number of records that changed something, `changes` the number of objects they
    changed. `opens` is the range that the page shows first, null if there was no incident.
    `narrowed` is true if the requested range would have been too large. `gaps` are those of a
    recording in the range; unset if there are none.
    """

    file: str
    records: int
    changes: int
    opens: tuple[int, int] | None
    narrowed: bool
    gaps: tuple[Gap, ...] | UnsetType = UNSET
