"""Regular expressions over full topic names, matched in bounded time.

A pattern becomes an automaton whose positions are the characters of the pattern, with repeats
expanded. The set of possible next positions is a bit set in an integer, so a match takes at most
`len(name) * POSITIONS_MAX` steps; there is no backtracking.

Source: Glushkov's construction; KIP-848 (patterns of RE2/J, matched by the server).
"""

import functools
from collections.abc import Iterable, Sequence

from controller.decisions.names import TIER_SEPARATOR
from controller.decisions.topics.pattern_syntax import (
    OTHER,
    Chars,
    Choice,
    Node,
    Repeat,
    chars,
    invalid_pattern,
    parse,
)
from records.errors import RequestError

POSITIONS_MAX = 250
"""Maximum positions in a pattern; a topic's name has at most 249 characters."""

_NODES_MAX = 10_000
"""Maximum nodes of a pattern with repeats expanded; nodes of empty groups have no position."""

STATES_MAX = 10_000
"""Maximum sets of positions cached per pattern; patterns in practice need fewer than 100."""

KEPT_STATES_MAX = 200
"""Maximum sets of positions cached per pattern that stays in memory between requests."""

_TOPIC_CHARS = chars("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")

_Positions = int
"""A set of positions, as bits."""


class Pattern:
    """A regular expression that matches whole names.

    Attributes:
        steps: Number of characters of names read so far, as a measure of the time spent.
    """

    def __init__(self, pattern: str, states_max: int = STATES_MAX) -> None:
        """Parse a pattern.

        Args:
            states_max: How many sets of positions are cached, to match later names faster.

        Raises:
            RequestError: INVALID_REGULAR_EXPRESSION.
        """
        builder = _Builder()
        built = builder.choice(parse(pattern))
        self._first, self._last, self._matches_nothing = built.first, built.last, built.nullable
        self._chars, self._follow = builder.chars, builder.follow
        self._by_char: dict[str, _Positions] = {}
        self._following: dict[_Positions, _Positions] = {}
        self._states_max = states_max
        self.steps = 0

    @property
    def is_exhausted(self) -> bool:
        """True if the cache of states is full: the pattern is too expensive for many names."""
        return len(self._following) >= self._states_max

    def matches(self, name: str) -> bool:
        """True if the pattern matches the whole name."""
        if not name:
            return self._matches_nothing
        reached, _ = self._read(name)
        return bool(reached & self._last)

    def matches_topics_in(self, namespace: str) -> bool:
        """True if the pattern matches some possible name of a topic directly in a namespace."""
        _, following = self._read(namespace + TIER_SEPARATOR)
        allowed = self._positions_of(_TOPIC_CHARS)
        seen, reached = 0, following & allowed
        while reached & ~seen:
            if reached & self._last:
                return True
            new, seen = reached & ~seen, seen | reached
            reached = self._after(new) & allowed
        return False

    def _read(self, text: str) -> tuple[_Positions, _Positions]:
        """Return the positions reached at the end of a text, and those that may come next."""
        by_char, followers = self._by_char, self._following
        reached, following = 0, self._first
        for count, char in enumerate(text, 1):
            allowed = by_char.get(char)
            reached = following & (self._at(char) if allowed is None else allowed)
            if not reached:
                self.steps += count
                return 0, 0
            found = followers.get(reached)
            following = self._after(reached) if found is None else found
        self.steps += len(text)
        return reached, following

    def _after(self, reached: _Positions) -> _Positions:
        following, rest = 0, reached
        while rest:
            lowest = rest & -rest
            following |= self._follow[lowest.bit_length() - 1]
            rest ^= lowest
        if not self.is_exhausted:
            self._following[reached] = following
        return following

    def _at(self, char: str) -> _Positions:
        found = self._by_char[char] = self._positions_of(1 << min(ord(char), OTHER))
        return found

    def _positions_of(self, wanted: Chars) -> _Positions:
        found = 0
        for position, allowed in enumerate(self._chars):
            if allowed & wanted:
                found |= 1 << position
        return found


@functools.lru_cache(maxsize=1_024)
def kept_pattern(pattern: str) -> Pattern:
    """Return a parsed pattern from a cache, for repeated use.

    Raises:
        RequestError: INVALID_REGULAR_EXPRESSION.
    """
    return Pattern(pattern, KEPT_STATES_MAX)


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern matches.

    Raises:
        RequestError: INVALID_REGULAR_EXPRESSION; also for a pattern that is too expensive to match.
    """
    compiled, found = Pattern(pattern), []
    for name in names:
        if compiled.matches(name):
            found.append(name)
        if compiled.is_exhausted:
            raise invalid_pattern(
                f"the pattern {pattern!r} takes too much work to match; simplify the pattern"
            )
    return found


class _Part:
    """A part of a pattern: its possible first and last positions; `nullable`: it may be empty."""

    __slots__ = ("first", "last", "nullable")

    def __init__(self, first: _Positions, last: _Positions, nullable: bool) -> None:
        self.first, self.last, self.nullable = first, last, nullable


class _Builder:
    """Numbers the positions of a pattern, and records which positions may follow each."""

    def __init__(self) -> None:
        self.chars: list[Chars] = []
        self.follow: list[_Positions] = []
        self._nodes = 0

    def choice(self, node: Choice) -> _Part:
        parts = [self._sequence(option) for option in node.options]
        found = _Part(0, 0, nullable=False)
        for part in parts:
            found.first |= part.first
            found.last |= part.last
            found.nullable |= part.nullable
        return found

    def _sequence(self, nodes: Sequence[Node]) -> _Part:
        found = _Part(0, 0, nullable=True)
        for node in nodes:
            found = self._joined(found, self._build(node))
        return found

    def _build(self, node: Node) -> _Part:
        self._nodes += 1
        if self._nodes > _NODES_MAX:
            raise _too_large()
        if isinstance(node, Choice):
            return self.choice(node)
        if isinstance(node, Repeat):
            return self._repeat(node)
        return self._position(node)

    def _position(self, allowed: Chars) -> _Part:
        if len(self.chars) >= POSITIONS_MAX:
            raise _too_large()
        bit = 1 << len(self.chars)
        self.chars.append(allowed)
        self.follow.append(0)
        return _Part(bit, bit, nullable=False)

    def _repeat(self, node: Repeat) -> _Part:
        found = _Part(0, 0, nullable=True)
        # Without an end: the last copy may follow itself.
        copies = max(node.low, 1) if node.high is None else node.high
        for number in range(1, copies + 1):
            part = self._build(node.node)
            if node.high is None and number == copies:
                self._connect(part.last, part.first)
            part.nullable |= number > node.low
            found = self._joined(found, part)
        return found

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._connect(left.last, right.first)
        return _Part(
            left.first | (right.first if left.nullable else 0),
            right.last | (left.last if right.nullable else 0),
            nullable=left.nullable and right.nullable,
        )

    def _connect(self, last: _Positions, first: _Positions) -> None:
        while last:
            lowest = last & -last
            self.follow[lowest.bit_length() - 1] |= first
            last ^= lowest


def _too_large() -> RequestError:
    return invalid_pattern(
        f"the pattern has more than {POSITIONS_MAX} characters with its repeats written out"
    )
