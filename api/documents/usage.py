"""JSON form of the space usage of a log."""

from collections.abc import Sequence

import msgspec

from replay.usage import Usage


class UsageRows(msgspec.Struct, frozen=True, kw_only=True):
    """The space usage of a log, largest first within each grouping."""

    rows: Sequence[Usage]
