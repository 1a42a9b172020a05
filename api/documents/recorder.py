"""JSON form of a line that a recorder prints while it mirrors a live Kafka node."""

import msgspec

from metadata_log.kraft.importer import Replaced


class RecordedLine(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a recorder since its start; a line is printed each time there is progress.

    `log_end` and `confirmed_end` are offsets in the mirror, exclusive. `replaced` lists the records
    that were cut off since the previous line, because Kafka replaced them. `source_end` is the
    source's end if the source is behind the mirror.
    """

    records: int
    log_end: int
    confirmed_end: int
    replaced: tuple[Replaced, ...] = ()
    source_end: int | None = None
