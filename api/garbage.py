"""The garbage collector of processes that read long logs, or serve one.

Only code that owns the whole process may call these functions. Objects that exist at the call are
never visited again, so garbage among them is never freed.
"""

import gc

_READ_OBJECTS_MAX = 50_000
"""Number of new objects after which a reader collects. Images and answers hold no cycles, so a
collection frees next to nothing: with Python's 700, collections take up to a tenth of a large
`diff`, and a seventh of the columns of a page."""

_SERVED_OBJECTS_MAX = 5_000
"""Number of new objects after which a service collects. With Python's 700, each large batch causes
several collections. Tasks and errors hold cycles, so the number is lower than for a reader."""


def collect_seldom() -> None:
    """Collect garbage seldom, and never visit objects that exist now, such as imported modules."""
    _leave_out(_READ_OBJECTS_MAX)


def collect_beside_image() -> None:
    """Never visit the image that a service has loaded: its millions of objects hold no cycles."""
    _leave_out(_SERVED_OBJECTS_MAX)


def _leave_out(new_objects_max: int) -> None:
    gc.freeze()
    gc.set_threshold(new_objects_max, *gc.get_threshold()[1:])
