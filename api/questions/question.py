"""What a question is: a name, a typed request, and how its answer is computed."""

from collections.abc import Callable, Iterable
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints

import msgspec

from api.questions.past import Past
from replay.about import About

if TYPE_CHECKING:
    from controller.descriptions.view import View


class Computed(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question.

    Attributes:
        answer: The whole answer; None for an answer of many items.
        items: The items of such an answer, in order, computed as they are taken.
        about: Returns what the answer says of the log. Call it once all items are taken.
    """

    about: Callable[[], About]
    answer: Any = None
    items: Iterable[Any] = ()


class Joiner(Protocol):
    """Joins items again of which some were left out, so that they do not tell where."""

    def add(self, items: Iterable[Any]) -> Iterable[Any]:
        """Take the next items; return those that are whole."""

    def rest(self) -> Iterable[Any]:
        """Return the last ones."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the type of its request.

    Attributes:
        describe: Answers from a view of the cluster at one point.
        tell: Answers from the log, up to an offset; for what needs more than one view. A view has
            the same answer without what only history knows, if the question has both.
        answer: The type of such an answer.
        item: The type of one item, of an answer that has many and comes in pages.
        joined: Makes what joins items again of which some were left out; None if none are joined.
    """

    name: str
    request: Any
    describe: "Callable[[View, Any], Any] | None" = None
    tell: Callable[[Past, int, Any], Computed] | None = None
    answer: Any = None
    item: Any = None
    joined: "Callable[[], Joiner] | None" = None

    @property
    def response(self) -> Any:
        """The type of the answer; of one that comes in pages, that of a page."""
        if self.answer is not None:
            return self.answer
        if self.item is not None:
            return GenericAlias(tuple, (self.item, ...))
        assert self.describe is not None, "an answer without items describes a view"
        return get_type_hints(self.describe)["return"]

    def answered(self, past: Past, at: int, request: Any) -> Computed:
        """Return the answer as of an offset.

        Raises:
            RequestError: the request names what does not exist, or no point.
            CorruptLogError: the log is damaged.
        """
        if self.tell is not None:
            return self.tell(past, at, request)
        assert self.describe is not None, "a question is answered in one way"
        image = past.image(at)
        answer = self.describe(past.view(image), request)
        return Computed(answer=answer, about=lambda: past.about_image(image, at))
