"""Percent escapes in object names.

A `#` separates an object from its field, and a `,` the parts of a quota's entity. Topic names have
neither, but users, groups, authors and config keys may: there they are written `%23` and `%2C`.
Nothing else needs an escape, so `100%` is written as it is.
"""

import re

_ESCAPES = {"%23": "#", "%2C": ",", "%25": "%", "%3C": "<"}
_ESCAPE = re.compile("|".join(_ESCAPES))
_OF = {char: escape for escape, char in _ESCAPES.items()}


def escaped(text: str, special: str = "#") -> str:
    """Escape the characters in `special` (of `#`, `,` and `<`)."""
    if "%" in text:
        text = _ESCAPE.sub(lambda match: "%25" + match[0][1:], text)
    for char in special:
        if char in text:
            text = text.replace(char, _OF[char])
    return text


def unescaped(text: str) -> str:
    """Undo `escaped`."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)
