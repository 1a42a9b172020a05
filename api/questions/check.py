"""Check: the invariants and expectations that a history violates, and where they first fail."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from api.questions.objects import JoinedPieces, Piece, pieces_of
from api.questions.past import Past
from api.questions.question import Computed, Question
from controller.invariants.history import Violation
from controller.log_check import check_log
from replay.expressions.expression import Expression


class CheckHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the violated invariants and expectations from a point on.

    `expect`: the expectations, which are expressions that should always be true.
    """

    first: str = "start"
    expect: tuple[str, ...] = ()


def violations_found(past: Past, at: int, request: CheckHistory) -> Computed:
    """Return the violations, in pieces; the field `first` is the offset of the first violation.

    The answer's position has the first checked offset, at the earliest the start of the kept
    history.

    Raises:
        RequestError: INVALID_REQUEST, a text is not an expression, or its types do not fit.
    """
    expectations = [Expression(text) for text in request.expect]
    first = past.first_known_offset(request.first, at)
    start = past.image(first - 1)
    with past.progress("checking", at + 1) as advance:
        source = past.timeline.source
        found = check_log(source, start, at + 1, expectations=expectations, progress=advance)
    return Computed(items=_document(found), about=lambda: replace(past.about(at), from_=first))


def _document(found: list[Violation]) -> Iterator[Piece]:
    offsets = [each.offset for each in found if each.offset is not None]
    yield Piece("first", min(offsets, default=None))
    yield from pieces_of("violations", map(msgspec.to_builtins, found))


CHECK = Question(
    name="check", request=CheckHistory, item=Piece, tell=violations_found, joined=JoinedPieces
)
