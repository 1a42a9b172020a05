"""The JSON form of each question's answer, the same on the command line and over HTTP."""

import functools
from collections.abc import Callable
from typing import Any, cast, get_args, get_type_hints

import msgspec

from api.questions.question import Question
from api.questions.table import AS_IT_IS, QUESTIONS, at_place


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The conversion of a question's answer to its JSON form, the document.

    Attributes:
        type: The document's type. For a stream, the type of one line; for an answer in pieces,
            dict.
        of: Creates a document from the request and the answer; from each item if the answer is a
            stream. An answer of many items that is not a stream is passed as a list.
        flags: Names of further boolean arguments of `of`.
        is_stream: True if each item is a document on a line of its own.
        has_place: False if the answer's position in the log is not added to the document.
        list_field: The field with the list that a caller may get in pages; None if there is none.
            Every page has the other fields, too.
        is_list: True if the items of the answer are those of the list.
    """

    type: Any
    of: Callable[..., msgspec.Struct | dict[str, Any]]
    flags: tuple[str, ...] = ()
    is_stream: bool = False
    has_place: bool = True
    list_field: str | None = None
    is_list: bool = False


@functools.cache
def list_of(type_: Any) -> Document:
    """Return the document of a list: a struct whose first field has items made by their `of`.

    Items without an `of` are in the document as they are. A struct with more fields has an `of`
    that takes all items.
    """
    field, hint = next(iter(get_type_hints(type_).items()))
    whole, one = getattr(type_, "of", None), getattr(get_args(hint)[0], "of", None)

    def of(request: Any, answer: Any) -> msgspec.Struct:
        if whole is not None:
            return cast(msgspec.Struct, whole(answer))
        found: msgspec.Struct = type_(**{field: tuple(answer if one is None else map(one, answer))})
        return found

    return Document(type=type_, of=of, list_field=field, is_list=True)


def document_of(question: Question) -> Document | None:
    """Return the document of a question's answer; None for a report, which is a page."""
    place = QUESTIONS[question.name].document
    if place is None:
        return None
    if place != AS_IT_IS:
        found = at_place(place, "api.documents")
        return found if isinstance(found, Document) else list_of(found)
    is_stream = question.answer is None
    type_ = question.item if is_stream else question.answer
    return Document(type=type_, of=lambda _, answer: answer, is_stream=is_stream)
