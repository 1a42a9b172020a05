"""Lines of a recorder beside a live Kafka node."""

import msgspec

from metadata_log.kraft.importer import Replaced


class RecordedLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a recorder has done since it started; a line each time that more was done.

    `log_end` and `confirmed_end` are those of the mirror, exclusive. `replaced` is what was cut
    since the line before. `source_end` is the source's end if it is behind the mirror.
    """

    records: int
    log_end: int
    confirmed_end: int
    replaced: tuple[Replaced, ...] = ()
    source_end: int | None = None
