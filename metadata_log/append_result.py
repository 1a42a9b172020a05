"""The result of appending a batch: its offsets and time."""

import msgspec


class AppendResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Offsets and time of a committed batch. `end_offset` is exclusive, `timestamp` in ms since
    1970.
    """

    base_offset: int
    end_offset: int
    leader_epoch: int
    timestamp: int
