"""Bisect: finds the offsets at which the value of an expression flips."""

from collections.abc import Iterator

import msgspec

from api.questions.objects import JoinedPieces, Piece, pieces_of
from api.questions.past import Past
from api.questions.question import Computed, Question
from replay.expressions.bisect import Flips
from replay.expressions.expression import Expression


class FindFlips(msgspec.Struct, frozen=True, kw_only=True):
    """Asks at which offsets the value of an expression flips, from a point on.

    Attributes:
        monotone: Assume that there is at most one flip, and find it by binary search over
            snapshots.
    """

    expression: str
    first: str = "start"
    monotone: bool = False


def flips_found(past: Past, at: int, request: FindFlips) -> Computed:
    """Return the fields `first`, `before`, `flips` and `assumed` of `Flips` in pieces.

    Raises:
        RequestError: INVALID_REQUEST, the text is not an expression, or its types do not fit.
    """
    expression = Expression(request.expression)
    first = past.first_known_offset(request.first, at)
    with past.progress("replaying", at + 1) as advance:
        if request.monotone:
            found = past.timeline.only_flip(expression, first, at + 1, advance)
        else:
            found = past.timeline.flips(expression, first, at + 1, advance)
    return Computed(items=_document(found), about=lambda: past.about(at))


def _document(found: Flips) -> Iterator[Piece]:
    yield Piece("first", found.first)
    yield Piece("before", found.before)
    yield from pieces_of("flips", map(msgspec.to_builtins, found.found))
    yield Piece("assumed", found.assumed)


BISECT = Question(
    name="bisect", request=FindFlips, item=Piece, tell=flips_found, joined=JoinedPieces
)
