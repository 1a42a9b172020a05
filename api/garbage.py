"""The garbage collector of processes that read long logs, or serve one.

Only what owns the process changes these settings. The objects that exist then are never visited
again, so what is garbage among them is never freed.
"""

import gc

_READ_OBJECTS_MAX = 50_000
"""New objects that start a run of the collector. Images and answers hold no cycles, so runs free
next to nothing: with Python's 700, they take up to a tenth of a large `diff`, and a seventh of the
columns of a page."""

_SERVED_OBJECTS_MAX = 5_000
"""The same for a service: with Python's 700, each large batch starts several runs. Tasks and errors
hold cycles, so it is not as high as for a reader."""


def collect_seldom() -> None:
    """Collect seldom, and never visit what exists now, such as the modules that were imported."""
    _leave_out(_READ_OBJECTS_MAX)


def collect_beside_image() -> None:
    """Never visit the image that a service has loaded: its millions of objects hold no cycles."""
    _leave_out(_SERVED_OBJECTS_MAX)


def _leave_out(new_objects_max: int) -> None:
    gc.freeze()
    gc.set_threshold(new_objects_max, *gc.get_threshold()[1:])
