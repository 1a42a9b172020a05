"""The number of cases that the suite runs: a part of them, or all with SAMPLES=whole (`make
heavy`).

Cases drawn by Hypothesis differ from run to run.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

IS_WHOLE = os.environ.get("SAMPLES") == "whole"

sampled = pytest.mark.sampled
"""A mark for tests that run a part of their cases; `make heavy` runs them whole."""

_Test = TypeVar("_Test", bound=Callable[..., Any])


def cases(whole: int, part: int) -> int:
    """Return the number of cases to run; the test needs the mark `sampled`."""
    return whole if IS_WHOLE else part


def drawn(whole: int, part: int) -> Callable[[_Test], _Test]:
    """Set the number of cases that Hypothesis draws for a test."""

    def mark(test: _Test) -> _Test:
        drawing = settings(max_examples=cases(whole, part), deadline=None)
        marked: _Test = sampled(drawing(test))
        return marked

    return mark
