"""The garbage collector of processes that read long logs, or serve one.

Only code that owns the whole process may call these functions. Objects that exist at the call are
never visited again, so cycles among them are never freed.
"""

import gc
import time
from typing import Any

_READ_OBJECTS_MAX = 50_000
"""Number of new objects after which a reader collects. Images and answers hold no cycles, so a
collection frees next to nothing: with Python's 700, collections take up to a tenth of a large
`diff`, and a seventh of the columns of a page."""

_SERVED_OBJECTS_MAX = 5_000
"""Number of new objects after which a service collects. With Python's 700, each large batch causes
several collections. Tasks and errors hold cycles, so the number is lower than for a reader."""

_SERVED_AGES = (3, 2)
"""Collections of new objects, and of those that survived one, before a full collection: 60,000
objects then. With Python's (10, 10) one of 600,000 takes a quarter of a second and more."""

_LONG_S = 0.01
"""Processor time of a full collection after which a service leaves out what it has visited."""


def collect_seldom() -> None:
    """Collect garbage seldom, and never visit objects that exist now, such as imported modules."""
    gc.freeze()
    gc.set_threshold(_READ_OBJECTS_MAX, *gc.get_threshold()[1:])


def collect_beside_image() -> None:
    """Exclude a service's image from collections: its millions of objects hold no cycles.

    Objects that a long full collection has visited are not visited again, either: most of them
    belong to later images. A connection that was open then is never freed, because it ends as a
    cycle; that costs some kilobytes for each.
    """
    gc.freeze()
    # Python delays full collections by a quarter of what the last one has left: now nothing.
    gc.collect()
    gc.set_threshold(_SERVED_OBJECTS_MAX, *_SERVED_AGES)
    if not any(isinstance(each, _LongCollections) for each in gc.callbacks):
        gc.callbacks.append(_LongCollections())


class _LongCollections:
    """Leaves out what long full collections have visited; called around each collection."""

    def __init__(self) -> None:
        self._began = 0.0

    def __call__(self, phase: str, collection: dict[str, Any]) -> None:
        if collection["generation"] != len(_SERVED_AGES):
            return
        if phase == "start":
            self._began = time.thread_time()
        elif time.thread_time() - self._began > _LONG_S:
            gc.freeze()
