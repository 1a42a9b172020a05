"""Pages of answers limited to the objects that the caller may see.

The visible items are divided into new pages, so that neither the number and sizes of pages nor
their cursors reveal how many items were removed: a cursor counts the items given to this caller.
The last few answers are kept partly read; for any other answer, a page is computed from the
beginning.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import msgspec

from api.questions.pages import PAGE_BYTES, Cursor, Page
from api.questions.question import Question
from controller.wire import from_wire, to_wire
from replay.about import About

_KEPT_MAX = 16
"""Number of partly read answers kept, each with at most one page."""

Ask = Callable[[Cursor | None], Awaitable[Page]]
"""Returns a whole page at a cursor."""

Show = Callable[[tuple[Any, ...]], Iterable[Any]]
"""Returns the items of a page that the caller may see."""


class VisiblePages:
    """Divides the visible parts of answers into pages."""

    def __init__(self) -> None:
        self._kept: dict[bytes, _ReadAnswer] = {}

    async def page(
        self,
        key: Any,
        question: Question,
        ask: Ask,
        show: Show,
        cursor: Cursor | None,
        *,
        limit: int | None = None,
    ) -> Page:
        """Return the page at a cursor; None: the first page.

        Args:
            key: Identifies the answer and the caller.
            limit: Maximum of items in the page.
        """
        reading = None if cursor is None else self._kept.pop(_key(key, cursor), None)
        if reading is None:
            start = None if cursor is None else Cursor(0, dict(cursor.points))
            reading = _ReadAnswer(question, ask, show, start)
            await reading.skip(0 if cursor is None else cursor.position)
        reading.ask, reading.show = ask, show
        items = await reading.take(limit)
        if not await reading.has_more():
            assert reading.about is not None, (
                "an answer that is read to its end says where it stands"
            )
            return Page(payload=to_wire(items), about=reading.about, points=dict(reading.points))
        following = Cursor(reading.position, dict(reading.points))
        self._keep(_key(key, following), reading)
        return Page(payload=to_wire(items), cursor=following, points=following.points)

    def _keep(self, key: bytes, reading: "_ReadAnswer") -> None:
        self._kept[key] = reading
        if len(self._kept) > _KEPT_MAX:
            del self._kept[next(iter(self._kept))]


def _key(key: Any, cursor: Cursor) -> bytes:
    return to_wire((key, cursor.position, sorted(cursor.points.items())))


class _ReadAnswer:
    """The visible part of one answer, read so far.

    Attributes:
        position: Number of items taken.
        points: Offsets of the answer's points; empty until a page was read.
        about: The answer's position in the log; None until everything is read.
    """

    def __init__(self, question: Question, ask: Ask, show: Show, start: Cursor | None) -> None:
        self.ask, self.show = ask, show
        self.points: dict[str, int] = {} if start is None else start.points
        self.position = 0
        self.about: About | None = None
        self._question = question
        self._items = self._read(start)
        self._next: msgspec.Raw | None = None

    async def has_more(self) -> bool:
        """True if another item follows."""
        if self._next is None:
            self._next = await anext(self._items, None)
        return self._next is not None

    async def skip(self, count: int) -> None:
        """Take this many items, or all that there are."""
        while self.position < count and await self.has_more():
            self._take_one()

    async def take(self, limit: int | None) -> list[msgspec.Raw]:
        """Return the items of the next page, at most `limit`."""
        items: list[msgspec.Raw] = []
        size = 0
        while size < PAGE_BYTES and len(items) != limit and await self.has_more():
            items.append(self._take_one())
            size += len(memoryview(items[-1]))
        return items

    def _take_one(self) -> msgspec.Raw:
        item, self._next = self._next, None
        assert item is not None, "has_more was true"
        self.position += 1
        return item

    async def _read(self, start: Cursor | None) -> AsyncIterator[msgspec.Raw]:
        cursor, joiner = start, self._question.joined and self._question.joined()
        while self.about is None:
            page = await self.ask(cursor)
            visible = self.show(from_wire(page.payload, self._question.response, lenient=True))
            for item in visible if joiner is None else joiner.add(visible):
                yield msgspec.Raw(to_wire(item))
            cursor, self.about = page.cursor, page.about
            self.points = page.points
        for item in () if joiner is None else joiner.rest():
            yield msgspec.Raw(to_wire(item))
