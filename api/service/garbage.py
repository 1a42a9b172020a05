"""What the garbage collector need not visit: images hold no cycles."""

import gc

_NEW_OBJECTS_MAX = 5_000
"""New objects that start a run of the garbage collector: with Python's 700, each large batch starts
some. Images hold no cycles, so a run frees next to nothing; every 100th visits all images kept."""


def keep_images() -> None:
    """Tell the garbage collector of the image that was loaded, and of those that follow.

    It has millions of objects without cycles: the collector need not visit them.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS_MAX, *gc.get_threshold()[1:])
