"""The position of a batch in a log."""

import msgspec

from metadata_log.kraft.batch import BatchHeader


class LogPosition(msgspec.Struct, frozen=True, gc=False):
    """Place of a batch that was read: its segment, its start byte there, and its header.

    When reading continues after the batch, the header shows whether the log is still the same
    there.
    """

    segment_base_offset: int
    byte: int
    header: bytes


class PlacedHeader(msgspec.Struct, frozen=True, gc=False):
    """The header of a batch, and the batch's place."""

    position: LogPosition
    header: BatchHeader
