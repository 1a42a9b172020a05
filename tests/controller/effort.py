"""Measures work as the number of executed lines of Python, which is the same on every machine."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], Any]) -> int:
    """Run a function; return the number of Python lines executed, those in called functions
    included.

    The garbage collector rests meanwhile: it may start at any line, and its callbacks (Hypothesis
    has one) and finalizers are lines too.
    """
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.disable()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count
