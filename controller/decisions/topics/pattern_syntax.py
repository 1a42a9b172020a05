"""Parses regular expressions over topic names.

The syntax is the part of RE2 syntax that concerns ASCII names: characters and escapes, `.`,
classes, groups, `|`, `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}`. A pattern always matches whole names,
so a leading `^` and a trailing `$` make no difference, and lazy forms such as `.*?` mean the same
as greedy ones. Look-around and back-references are refused, as in RE2, because their matching time
is unbounded.

Source: KIP-848 (patterns of RE2/J, matched by the server).
"""

from typing import TypeAlias

import msgspec

from records.errors import RequestError

OTHER = 128
"""Stands for all characters that are not ASCII."""

_LENGTH_MAX = 1_000
_NESTING_MAX = 50
_REPEAT_MAX = 1_000

Chars = int
"""A set of characters, as bits: ASCII by its code, everything else as `OTHER`."""

_ANY: Chars = (1 << OTHER + 1) - 1


class Choice(msgspec.Struct, frozen=True):
    """Alternatives: sequences of nodes, one of which must match."""

    options: tuple[tuple["Node", ...], ...]


class Repeat(msgspec.Struct, frozen=True):
    """A node repeated from `low` to `high` times; None means without limit."""

    node: "Node"
    low: int
    high: int | None


Node: TypeAlias = Chars | Choice | Repeat


def chars(text: str) -> Chars:
    """Return a text's ASCII characters as a character set."""
    found = 0
    for char in text:
        found |= 1 << ord(char)
    return found


def _span(first: int, last: int) -> Chars:
    return (1 << last + 1) - (1 << first)


_DIGITS = chars("0123456789")
_WORD = _DIGITS | _span(ord("a"), ord("z")) | _span(ord("A"), ord("Z")) | chars("_")
_SPACE = chars(" \t\n\r\f")
_CLASSES = {
    "d": _DIGITS,
    "w": _WORD,
    "s": _SPACE,
    "D": _ANY & ~_DIGITS,
    "W": _ANY & ~_WORD,
    "S": _ANY & ~_SPACE,
}
_COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse(pattern: str) -> Choice:
    """Parse a pattern.

    Raises:
        RequestError: INVALID_REGULAR_EXPRESSION.
    """
    if len(pattern) > _LENGTH_MAX:
        raise invalid_pattern(
            f"the pattern has {len(pattern)} characters; at most {_LENGTH_MAX} are allowed"
        )
    return _Parser(pattern).parse()


def invalid_pattern(reason: str) -> RequestError:
    """Return the error for a pattern that cannot be used."""
    return RequestError("INVALID_REGULAR_EXPRESSION", reason)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def parse(self) -> Choice:
        found = self._choice()
        if self._at < len(self._pattern):
            raise self._error("a ')' without its '('")
        return found

    def _choice(self) -> Choice:
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        return Choice(tuple(options))

    def _sequence(self) -> tuple[Node, ...]:
        nodes: list[Node] = []
        if self._depth == 0:
            self._take("^")
        while (char := self._peek()) and char not in "|)":
            if char == "$" and self._depth == 0 and self._pattern[self._at + 1 :][:1] in ("", "|"):
                self._at += 1
            else:
                nodes.append(self._repeated(self._atom()))
        return tuple(nodes)

    def _atom(self) -> Node:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == ".":
            return _ANY
        if char == "\\":
            return self._escaped()
        if char in "*+?{":
            raise self._error(f"{char!r} has nothing to repeat")
        if char in "^$":
            raise self._error(f"{char!r} may only stand at the beginning or the end")
        return self._literal(char)

    def _group(self) -> Choice:
        if self._take("?") and not self._take(":"):
            raise self._error("look-around, flags and named groups are not supported")
        self._depth += 1
        if self._depth > _NESTING_MAX:
            raise self._error(f"groups are nested deeper than {_NESTING_MAX}")
        found = self._choice()
        self._depth -= 1
        if not self._take(")"):
            raise self._error("a '(' without its ')'")
        return found

    def _class(self) -> Chars:
        is_negated = self._take("^")
        found, is_first = 0, True
        while is_first or self._peek() != "]":
            is_first = False
            char = self._next("a '[' without its ']'")
            low = self._escaped() if char == "\\" else self._literal(char)
            if self._peek() == "-" and self._pattern[self._at + 1 :][:1] not in ("]", ""):
                self._at += 1
                char = self._next()
                high = self._escaped() if char == "\\" else self._literal(char)
                found |= self._range(low, high)
            else:
                found |= low
        self._at += 1
        return _ANY & ~found if is_negated else found

    def _range(self, low: Chars, high: Chars) -> Chars:
        if low.bit_count() != 1 or high.bit_count() != 1 or low > high:
            raise self._error("a range must go from a character to a later one")
        return _span(low.bit_length() - 1, high.bit_length() - 1)

    def _escaped(self) -> Chars:
        char = self._next("a '\\' at the end")
        if char in _CLASSES:
            return _CLASSES[char]
        if char.isalnum():
            raise self._error(f"'\\{char}' is not supported")
        return self._literal(char)

    def _literal(self, char: str) -> Chars:
        if not char.isascii():
            raise self._error(f"{char!r} is in no name: names are ASCII")
        return chars(char)

    def _repeated(self, node: Node) -> Node:
        """Parse the repetition after a node, if any; a '?' after it (lazy) is ignored."""
        char = self._peek()
        if not char or char not in "*+?{":
            return node
        self._at += 1
        low, high = self._braces() if char == "{" else _COUNTS[char]
        self._take("?")
        return Repeat(node, low, high)

    def _braces(self) -> tuple[int, int | None]:
        text, brace, _ = self._pattern[self._at :].partition("}")
        low, comma, high = text.partition(",")
        is_number = low.isdecimal() and (high.isdecimal() or not high) and text.isascii()
        if not brace or not is_number or max(len(low), len(high)) > len(str(_REPEAT_MAX)):
            raise self._error("a count is written {n}, {n,} or {n,m}")
        self._at += len(text) + 1
        least = int(low)
        most = (int(high) if high else None) if comma else least
        if most is not None and most < least:
            raise self._error(f"{least} is above {most}")
        return least, most

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self, char: str) -> bool:
        if self._peek() != char:
            return False
        self._at += 1
        return True

    def _next(self, missing: str = "the pattern ends too early") -> str:
        char = self._peek()
        if not char:
            raise self._error(missing)
        self._at += 1
        return char

    def _error(self, reason: str) -> RequestError:
        return invalid_pattern(f"{self._pattern!r}, at character {self._at}: {reason}")
