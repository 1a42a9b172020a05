"""Patterns of object names: `partition:orders*/0`.

`*` matches any characters, `?` matches one. If an object has exactly this name, only that object
matches.
"""

import re
from collections.abc import Callable, Collection

_WILD = re.compile(r"[*?]")


def is_pattern(text: str) -> bool:
    """True if a name contains `*` or `?`."""
    return _WILD.search(text) is not None


def name_matcher(text: str, names: Collection[str]) -> Callable[[str], bool]:
    """Return a function that checks whether a name matches `text`.

    Args:
        names: Names of the existing objects; if `text` is one of them, it matches only itself.
    """
    if text in names or not is_pattern(text):
        return text.__eq__
    wild = {"*": ".*", "?": "."}
    pattern = re.compile("".join(wild.get(char) or re.escape(char) for char in text), re.DOTALL)
    return lambda name: pattern.fullmatch(name) is not None
