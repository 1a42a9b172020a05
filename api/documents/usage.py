"""What takes the room in a log."""

from collections.abc import Sequence

import msgspec

from replay.usage import Usage


class UsageRows(msgspec.Struct, frozen=True, kw_only=True):
    """What takes the room, largest first of each kind of row."""

    rows: Sequence[Usage]
