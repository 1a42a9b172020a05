"""Definition of a question: its name, its typed request, and how its answer is computed."""

import functools
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
        answer: The whole answer; None if it consists of many items.
        items: The items of an answer of many items, in order, computed as they are taken.
        about: Returns the answer's position in the log. Call it after all items have been taken.
    """

    about: Callable[[], About]
    answer: Any = None
    items: Iterable[Any] = ()


class Joiner(Protocol):
    """Regroups filtered items of an answer, so that their sizes do not reveal the removed parts."""

    def add(self, items: Iterable[Any]) -> Iterable[Any]:
        """Buffer the next items; return those that are now complete."""

    def rest(self) -> Iterable[Any]:
        """Return the remaining items."""


@functools.cache
def _returned(describe: Callable[..., Any]) -> Any:
    return get_type_hints(describe)["return"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the types of its request and answer.

    Attributes:
        describe: Computes the answer from a view of the cluster at one point.
        tell: Computes the answer from the log, up to an offset; for answers that need more than one
            view. If a question has both, `describe` gives the same answer without the details that
            only the log has.
        answer: The type of the answer to `tell`, if the answer is one value.
        item: The type of one item, if the answer has many and is returned in pages.
        joined: Creates the `Joiner` for the answer's items; None if the items need no regrouping.
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
        """The type of the answer, or of one page if the answer is returned in pages."""
        if self.answer is not None:
            return self.answer
        if self.item is not None:
            return GenericAlias(tuple, (self.item, ...))
        assert self.describe is not None, "an answer without items describes a view"
        return _returned(self.describe)

    def answered(self, past: Past, at: int, request: Any) -> Computed:
        """Return the answer as of an offset.

        Raises:
            RequestError: an object or point in the request does not exist.
            CorruptLogError: the log is damaged.
        """
        if self.tell is not None:
            return self.tell(past, at, request)
        assert self.describe is not None, "a question is answered in one way"
        image = past.image(at)
        answer = self.describe(past.view(image), request)
        return Computed(answer=answer, about=lambda: past.about_image(image, at))
