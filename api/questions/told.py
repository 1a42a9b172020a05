"""Answers as they are computed."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from replay.about import About


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question.

    Attributes:
        answer: The whole answer; None for an answer of many items.
        items: The items of such an answer, in order, computed as they are taken.
        about: Returns what the answer says of the log. Call it once all items are taken.
    """

    about: Callable[[], About]
    answer: Any = None
    items: Iterable[Any] = ()
