"""Where a batch stands in a log."""

import msgspec


class LogPosition(msgspec.Struct, frozen=True, gc=False):
    """A batch that was read: its segment, the byte where it starts there, and its header.

    The header tells, when reading goes on behind it, whether the log is still the same there.
    """

    segment_base_offset: int
    byte: int
    header: bytes
