"""Pages of lists: the parameters `limit` and `cursor`, and the `next` of an answer.

A cursor is where the next page starts, and the offsets of the question's points, so that all pages
are of one image although the log grows. Clients treat it as opaque. It is no secret and gives no
rights: for each page, the question is asked again, as its caller. Its checksum detects a cursor
    that was damaged or is sent with another question.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from api.documents.document import Document
from api.http.request import COUNT_MAX, Call, one, one_count
from api.questions.pages import Cursor, Page
from api.questions.question import Question
from controller.authorization.caller import Caller
from controller.wire import to_wire
from records.errors import RequestError

LIMIT, CURSOR, NEXT = "limit", "cursor", "next"

PARAMETERS = (LIMIT, CURSOR)
"""Parameters of every question whose answer is a list."""

MIN_OFFSET = "min_offset"
"""Parameter of every question: an offset that the log must contain before the answer."""

CONSISTENT = "consistent"
"""Parameter of every question: include all that the store of a shared log has committed."""

VERBOSE = "verbose"
"""Parameter of streams: also return a last line about the log."""

_OF_THE_REQUEST = (LIMIT, MIN_OFFSET, CONSISTENT, VERBOSE)
"""Parameters that may differ between the pages of a list."""

_CHECK_BYTES = 8


class NextPage(msgspec.Struct, frozen=True):
    """The cursor of the next page; null on the last page, absent without `limit` and `cursor`."""

    next: str | UnsetType | None = UNSET


_Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]


class _Content(msgspec.Struct, frozen=True, array_like=True):
    """The content of a cursor.

    Attributes:
        history_start: Start of the log's history when the first page was made.
    """

    position: _Count
    worker: _Count
    points: dict[str, int]
    history_start: int


class Paging(msgspec.Struct, frozen=True, kw_only=True):
    """The page that a request asks for; without `limit` and `cursor`, the whole list.

    Attributes:
        list_field: The document's field with the list that is cut into pages; None if the answer's
            items are the list's, so that only the page is computed.
        start: The start of the page, from the cursor; None: the start of the list.
        limit: Maximum of items; None: no limit.
        subject: What a cursor belongs to: the cluster, the caller, the question and its parameters.
        history_start: Start of the log's history when the first page was made.
        url: Path and query of the request, without the cursor.
    """

    list_field: str | None = None
    start: Cursor | None = None
    limit: int | None = None
    subject: bytes = b""
    history_start: int = 0
    url: tuple[str, Mapping[str, Sequence[str]]] = ("", {})

    @property
    def is_asked(self) -> bool:
        """True if the request asks for a page, not for the whole list."""
        return self.limit is not None or self.start is not None

    @property
    def computed(self) -> tuple[Cursor | None, int | None]:
        """Start and limit of the answer from which the page is made."""
        if self.list_field is None:
            return self.start, self.limit
        return self.start and replace(self.start, position=0), None

    def page_of(self, document: Any, last: Page) -> tuple[Any, str | None]:
        """Return the document of the page, and the cursor of the next one; None on the last page.

        Args:
            document: The document of the computed answer.
            last: The last page of that answer.
        """
        if self.list_field is None:
            return document, self.cursor_after(last)
        items = _items(document, self.list_field)
        if items is None:
            return document, None  # it is about one object
        first = 0 if self.start is None else self.start.position
        end = len(items) if self.limit is None else first + self.limit
        following = self._text(Cursor(end, last.points)) if end < len(items) else None
        chosen = {self.list_field: items[first:end]}
        if isinstance(document, dict):
            return {**document, **chosen}, following
        return replace(document, **chosen), following

    def cursor_after(self, page: Page) -> str | None:
        """Return the cursor after `page`, a page that was computed alone; None after the last."""
        return None if page.cursor is None else self._text(page.cursor)

    def _text(self, following: Cursor) -> str:
        content = msgspec.msgpack.encode(
            _Content(following.position, following.worker, following.points, self.history_start)
        )
        found = base64.urlsafe_b64encode(_check(self.subject, content) + content)
        return found.decode().rstrip("=")

    def link(self, cursor: str) -> str:
        """Return the header `Link` to the next page; RFC 8288."""
        path, query = self.url
        following = urlencode({**query, CURSOR: [cursor]}, doseq=True)
        return f'<{path}?{following}>; rel="next"'


def paging_of(
    call: Call, caller: Caller, document: Document, question: Question, at: str, path: str
) -> Paging:
    """Return the page that a request asks for.

    Args:
        at: The point of the question.
        path: The path of the request.

    Raises:
        RequestError: INVALID_REQUEST, the limit is not positive, or the cursor was changed or
            belongs to another question. RESOURCE_GONE, the log does not hold the list any more.
    """
    limit, text = one_count(call.values, LIMIT), one(call.values, CURSOR)
    if limit is None and text is None:
        return Paging()
    query = {name: of for name, of in call.values.items() if name != CURSOR}
    named = sorted((name, of) for name, of in query.items() if name not in _OF_THE_REQUEST)
    subject = to_wire((call.service.settings.cluster_id, caller.principal, path, named))
    found = Paging(
        list_field=None if _comes_by_items(document, question) else document.list_field,
        limit=limit,
        subject=subject,
        history_start=call.service.answers.history_start,
        url=(path, query),
    )
    if text is None:
        return found
    content = _read(text, subject)
    if at not in content.points:
        raise _unreadable()
    _check_held(call, question, content, content.points[at])
    start = Cursor(content.position, content.points, content.worker)
    return replace(found, start=start, history_start=content.history_start)


def _read(text: str, subject: bytes) -> _Content:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        check, content = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
        if check != _check(subject, content):
            raise _unreadable()
        found = msgspec.msgpack.decode(content, type=_Content)
    except ValueError:  # also of characters that are not ASCII, and of msgspec
        raise _unreadable() from None
    return found


def _check(subject: bytes, content: bytes) -> bytes:
    return hashlib.blake2b(content, key=_key(subject), digest_size=_CHECK_BYTES).digest()


def _key(subject: bytes) -> bytes:
    return hashlib.blake2b(subject, digest_size=32).digest()


def _check_held(call: Call, question: Question, content: _Content, as_of: int) -> None:
    """Check that the log still has the history from which the first page was made.

    The state at an offset is available while the history after the offset is kept; a list of past
    records changes when the start of the history moves.

    Raises:
        RequestError: RESOURCE_GONE.
    """
    start, end = call.service.answers.history_start, call.service.image.provenance.next_offset
    if as_of >= end:
        why = f"the log ends at offset {end} now, before the list's offset {as_of}"
    elif as_of < start - 1:
        why = f"its offset {as_of} is not kept: history starts at {start}"
    elif question.tell is not None and start != content.history_start:
        why = f"history started at {content.history_start} then, and starts at {start} now"
    else:
        return
    raise RequestError(
        "RESOURCE_GONE",
        f"the list of this cursor is no longer available: {why}; ask without cursor for a new list",
    )


def _unreadable() -> RequestError:
    return RequestError(
        "INVALID_REQUEST",
        "parameter cursor: the value is not a cursor of this question; send the `next` of the "
        "page before, as the same user and with the same parameters (limit may differ), or leave "
        "cursor out for a new list",
    )


def is_paged(document: Document | None) -> bool:
    """True if the answer is a list that can be requested in pages."""
    return document is not None and (document.is_stream or document.list_field is not None)


def _comes_by_items(document: Document, question: Question) -> bool:
    return question.item is not None and (document.is_stream or document.is_list)


def _items(document: Any, field: str) -> Sequence[Any] | None:
    found = document if isinstance(document, dict) else msgspec.structs.asdict(document)
    return found.get(field)
