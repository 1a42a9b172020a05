"""The garbage collector of processes that read long logs."""

import gc

_NEW_OBJECTS_MAX = 50_000
"""New objects that start a run of the collector. Images and answers hold no cycles, so runs free
next to nothing: with Python's 700, they take up to a tenth of a large `diff`, and a seventh of the
columns of a page."""


def collect_seldom() -> None:
    """Collect seldom, and never visit what exists now, such as the modules that were imported."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS_MAX, *gc.get_threshold()[1:])
