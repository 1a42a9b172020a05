"""Escapes control characters in texts from a log, so that a terminal prints and does not obey them.

Names, reasons and values come from a log, where anyone may have written them.
"""

import re

# What JSON need not escape, but a terminal may obey: C1 controls and bidirectional formatting.
# Some readers take U+2028 and U+2029 for ends of lines.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_INDENT = "  "


def plain(text: str) -> str:
    r"""Return a text as one line with control characters escaped, such as `\x1b`."""
    if text.isprintable():
        return text
    return "".join([c if c.isprintable() else c.encode("unicode_escape").decode() for c in text])


def plain_block(text: str) -> str:
    """Return a text of several lines, each made plain and indented.

    No part of it can be taken for a line of its own, such as the next message of a log.
    """
    return "\n".join([_INDENT + plain(line) for line in text.rstrip("\n").split("\n")])


def printable_json(document: str) -> str:
    r"""Return the same JSON with `\u` escapes for characters that a terminal may obey."""
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", document)
