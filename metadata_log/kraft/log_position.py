"""The position of a batch in a log."""

import msgspec

from metadata_log.kraft.batch import BatchHeader


class LogPosition(msgspec.Struct, frozen=True, gc=False):
    """A batch that was read: its segment, the byte where it starts there, and its header.

    When reading continues after it, the header shows whether the log is still the same there.
    """

    segment_base_offset: int
    byte: int
    header: bytes


class PlacedHeader(msgspec.Struct, frozen=True, gc=False):
    """The header of a batch, and where the batch is."""

    position: LogPosition
    header: BatchHeader
