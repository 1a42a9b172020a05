"""JSON form of the lines that a recorder prints while it mirrors a live Kafka node or quorum."""

import msgspec

from metadata_log.format.parts import Gap
from metadata_log.kraft.importer import Replaced


class RecordedLine(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a recorder since its start or the last gap.

    A line is printed each time there is progress. `log_end` and `confirmed_end` are offsets in the
    mirror, exclusive. `replaced` lists the records that were cut off since the previous line,
    because Kafka replaced them. `source_end` is the source's end if it is behind the mirror.
    """

    records: int
    log_end: int
    confirmed_end: int
    replaced: tuple[Replaced, ...] = ()
    source_end: int | None = None


class GapLine(msgspec.Struct, frozen=True, kw_only=True):
    """A gap after which the recording goes on in a new part.

    `earlier_part` is the name of the folder, beside the mirror, with the records before the gap.
    """

    gap: Gap
    earlier_part: str
