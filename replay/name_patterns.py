"""Patterns of object names: `partition:orders*/0`. The only matcher of names in the project.

`*` matches any characters, `?` matches one. If an object's name equals the pattern, only that
object matches.
"""

import re
from collections.abc import Callable, Collection
from functools import lru_cache

_WILD = re.compile(r"[*?]")
_STARS = re.compile(r"\*+")


def is_pattern(text: str) -> bool:
    """True if a name contains `*` or `?`."""
    return _WILD.search(text) is not None


def name_matcher(text: str, names: Collection[str]) -> Callable[[str], bool]:
    """Return a function that checks whether a name matches `text`.

    A check takes time in proportion to the name's length times the pattern's.

    Args:
        names: Names of the existing objects; if `text` is one of them, it matches only itself.
    """
    if text in names or not is_pattern(text):
        return text.__eq__
    pattern = _compiled(text)
    return lambda name: pattern.fullmatch(name) is not None


@lru_cache(1_000)
def _compiled(text: str) -> re.Pattern[str]:
    """Return a regular expression that never backtracks into the text between two stars.

    The first match of a text between stars leaves the most for the rest, so trying its later
    matches is useless, and the regular expression's groups are atomic. With backtracking, the time
    would be exponential in the number of stars.
    """
    first, *rest = (_plain(part) for part in _STARS.split(text))
    if not rest:
        return re.compile(first, re.DOTALL)
    *middle, last = rest
    found = "".join(f"(?>.*?{part})" for part in middle)
    return re.compile(f"{first}{found}.*{last}", re.DOTALL)


def _plain(part: str) -> str:
    return "".join("." if char == "?" else re.escape(char) for char in part)
