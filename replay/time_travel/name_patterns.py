"""Patterns of object names: `partition:orders*/0`.

`*` stands for any characters, `?` for one. If an object has such a name, it alone is meant.
"""

import re
from collections.abc import Callable, Collection

_WILD = re.compile(r"[*?]")


def is_pattern(text: str) -> bool:
    """True if a name holds `*` or `?`."""
    return _WILD.search(text) is not None


def name_matcher(text: str, names: Collection[str]) -> Callable[[str], bool]:
    """Return the check whether a name is `text` or matches it.

    Args:
        names: Of the objects that there are; if `text` is among them, it is no pattern.
    """
    if text in names or not is_pattern(text):
        return text.__eq__
    wild = {"*": ".*", "?": "."}
    pattern = re.compile("".join(wild.get(char) or re.escape(char) for char in text), re.DOTALL)
    return lambda name: pattern.fullmatch(name) is not None
