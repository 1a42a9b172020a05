"""Documents about reports."""

import msgspec


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A report's file.

    `records` counts those that changed something, `changes` the objects that they changed. `opens`
    is the range at which the page opens, null if nothing changed. `narrowed`: the range that was
    asked for would have been too large.
    """

    file: str
    records: int
    changes: int
    opens: tuple[int, int] | None
    narrowed: bool
