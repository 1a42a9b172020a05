"""Percent escapes in object names.

A `#` separates an object from its field, and a `,` separates the parts of a quota's entity. Topic
names contain neither, but users, groups, authors and config keys may: there they are written `%23`
and `%2C`. No other character needs an escape, so `100%` is written as it is.
"""

import re

_ESCAPES = {"%23": "#", "%2C": ",", "%25": "%", "%3C": "<"}
_ESCAPE = re.compile("|".join(_ESCAPES))
_OF = {char: escape for escape, char in _ESCAPES.items()}


def escaped(text: str, special: str = "#") -> str:
    """Return the text with the characters in `special` escaped (any of `#`, `,` and `<`)."""
    if "%" in text:
        text = _ESCAPE.sub(lambda match: "%25" + match[0][1:], text)
    for char in special:
        if char in text:
            text = text.replace(char, _OF[char])
    return text


def unescaped(text: str) -> str:
    """Return the text with the escapes of `escaped` undone."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)
