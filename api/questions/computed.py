"""Answers as they are computed, item by item."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from replay.about import About


class Computed(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question.

    Attributes:
        answer: The whole answer; None for an answer of many items.
        items: The items of such an answer, in order, computed on demand.
        about: Returns the answer's position in its log. Call it after taking all items.
    """

    about: Callable[[], About]
    answer: Any = None
    items: Iterable[Any] = ()
