"""The position of a batch in a log."""

import msgspec


class LogPosition(msgspec.Struct, frozen=True, gc=False):
    """A batch that was read: its segment, the byte where it starts there, and its header.

    When reading continues after it, the header shows whether the log is still the same there.
    """

    segment_base_offset: int
    byte: int
    header: bytes
