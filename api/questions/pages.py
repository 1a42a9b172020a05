"""Answers in pages of bounded size.

A page has a cursor: the start of the next page and the offsets of the request's points. The caller
sends it back with the request for the next page, so all pages belong to one answer although the log
grows. The last few unfinished answers are cached; a page of any other answer is computed anew from
the beginning.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from api.questions.parts import located, naming_part, opened
from api.questions.past import Before, Past
from api.questions.question import Computed, Question
from api.questions.table import find_question
from controller.wire import from_wire, to_wire
from metadata_log.limits import MIB
from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError
from replay.about import About
from replay.report.kept_reports import KeptReports

PAGE_BYTES = MIB
"""A page ends with the item that reaches this size."""

_ACROSS = frozenset({"report", "summary", "timeline", "history", "outages", "diff"})
"""Questions that, over a connection, also read the earlier parts of a recording."""

_KEPT_MAX = 4
"""How many unfinished answers are cached. Each may hold an image."""


class Cursor(msgspec.Struct, frozen=True):
    """Start of a page: the index of its first item, and the offsets of the requested points.

    `worker` is the number of the process that has cached the unfinished answer.
    """

    position: int
    points: dict[str, int]
    worker: int = 0


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Part of an answer, encoded by `controller.wire`.

    The last page has `about`, all others have `cursor`. A page that ends at a limit may have both.

    Attributes:
        points: The offsets of the points in the request.
        made: The content itself, if this process made it: decoding takes longer than most answers.
    """

    payload: bytes
    about: About | None = None
    cursor: Cursor | None = None
    points: dict[str, int] = {}
    made: Any = None

    def content(self, response: Any) -> Any:
        """Return the content, given the type of the question's response."""
        if self.made is not None:
            return self.made
        return from_wire(self.payload, response, lenient=True)


class PagedLog:
    """Answers questions about a log, page by page."""

    def __init__(self, place: Path | str, *, is_live: bool = True) -> None:
        """Create the answers; the log is opened for each of them.

        Args:
            place: A directory, or the URL of an archive or a backup.
            is_live: True if the state at the log's end holds until now, because its writer serves
                it; False if the log may be a copy, known only up to its last record.
        """
        self._place = place
        self._is_live = is_live
        self._kept: dict[bytes, _ReadAnswer] = {}
        self._kept_reports = KeptReports()

    def page(
        self,
        name: str,
        payload: bytes,
        at: str,
        cursor: Cursor | None = None,
        *,
        limit: int | None = None,
        sql_history: str | None = None,
        by_name: bool = False,
    ) -> Page:
        """Return a page of the answer to a question.

        Args:
            name: The question's name.
            payload: The request, encoded by `controller.wire`.
            at: The point of the question.
            cursor: The cursor of the previous page; None for the first page.
            limit: Maximum of items in the page; only for an answer of many items.
            sql_history: URL of the database with the SQL history; None: that in the directory.
            by_name: Identify objects by their names alone, for callers whose rights are limited to
                names.

        Raises:
            RequestError: there is no such question, or an object in the request does not exist.
            CorruptLogError: the log is damaged.
        """
        question = find_question(name)
        key = name, payload, by_name
        reading = None if cursor is None else self._kept.pop(_key(key, cursor), None)
        if reading is None:
            request = from_wire(payload, question.request)
            with LogReader.open(self._place) as reader:
                points = None if cursor is None else dict(cursor.points)

                def past_of(of: LogReader, before: Before | None) -> Past:
                    is_newest = of is reader
                    return Past(
                        of,
                        points=points if is_newest else None,
                        kept_reports=self._kept_reports if is_newest else None,
                        is_live=self._is_live and is_newest,
                        sql_history=sql_history,
                        by_name=by_name,
                        before=before,
                    )

                past = opened(reader, past_of)
                result = _answered(question, past, at, request)
            if question.item is None:
                answer = to_wire(result.answer)
                return Page(payload=answer, about=result.about(), points=dict(past.points))
            reading = _ReadAnswer(past, result)
            if cursor is not None:
                reading.skip(cursor.position)
        items = reading.take(PAGE_BYTES, limit)
        points = dict(reading.past.points)
        if not reading.has_more:
            return Page(payload=to_wire(items), about=reading.about, points=points)
        following = Cursor(reading.position, points)
        self._keep(_key(key, following), reading)
        about = None if limit is None else reading.about
        return Page(payload=to_wire(items), about=about, cursor=following, points=points)

    def _keep(self, key: bytes, reading: "_ReadAnswer") -> None:
        self._kept[key] = reading
        if len(self._kept) > _KEPT_MAX:
            del self._kept[next(iter(self._kept))]


def _answered(question: Question, past: Past, at: str, request: Any) -> Computed:
    part, offset = located(past, at)
    past.points[at] = offset
    before = part.before
    if question.name not in _ACROSS:
        part.before = part.after = None
    try:
        return question.answered(part, offset, request)
    except UnknownHistoryError as error:
        part.before = before
        raise naming_part(error, part) from error


def _key(asked: tuple[str, bytes, bool], cursor: Cursor) -> bytes:
    return to_wire((*asked, cursor.position, sorted(cursor.points.items())))


class _ReadAnswer:
    """An answer whose first pages have been read."""

    def __init__(self, past: Past, result: Computed) -> None:
        self.past, self._result = past, result
        self.position = 0
        self._items: Iterator[msgspec.Raw] = map(_raw, result.items)
        self._next = next(self._items, None)

    @property
    def has_more(self) -> bool:
        return self._next is not None

    @cached_property
    def about(self) -> About:
        return self._result.about()

    def skip(self, count: int) -> None:
        for _ in islice(self._taken(), count):
            pass

    def take(self, size_bytes: int, limit: int | None) -> list[msgspec.Raw]:
        items, size = [], 0
        for item in islice(self._taken(), limit):
            items.append(item)
            size += len(memoryview(item))
            if size >= size_bytes:
                break
        return items

    def _taken(self) -> Iterable[msgspec.Raw]:
        while self._next is not None:
            item, self._next = self._next, None
            self.position += 1
            self._next = next(self._items, None)
            yield item


def _raw(item: object) -> msgspec.Raw:
    return msgspec.Raw(to_wire(item))
