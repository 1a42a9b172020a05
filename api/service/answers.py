"""Answers questions to a running service, limited to the objects that the caller may see."""

import asyncio
import importlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from api.questions.pages import Cursor, Page
from api.questions.past_names import topic_ids, with_names
from api.questions.question import Question
from api.questions.rows import FollowRows, check_types, is_offset
from api.questions.table import QUESTIONS, find_question, guard_of
from api.questions.workers import Workers
from api.requests.commands import described, load_commands
from api.requests.wire_requests import not_available
from api.service.feed import Feed, followed_rows
from api.service.follower_status import FollowerStatus
from api.service.history import History
from api.service.visible_pages import VisiblePages
from api.transport.shutdown import first_of
from controller.asked.asked import BoundDecision
from controller.authorization.authorizer import CLUSTER, Access, Operation, topic_resource
from controller.authorization.caller import Caller
from controller.decider import Decision
from controller.decisions.context.context import Context
from controller.descriptions.topics import DescribeTopics
from controller.pipeline.log_port import ServedLog
from controller.results.answer import Answer
from controller.results.result import ControllerResult
from controller.wire import from_wire, to_wire
from records.base import Uuid
from records.errors import UnavailableError
from replay.about import About, Bounds, about_provenance
from replay.image.provenance import Provenance

load_commands()

FOLLOW_WAIT_MS_MAX = 30_000
"""Longest wait for new records: a proxy may close a connection that is silent for longer."""

FOLLOWERS_MAX = 2_000
"""Maximum questions waiting for new records: less than half of the requests that all connections
of the socket may have in flight, so that appends have room."""

FOLLOWERS_A_CALLER_MAX = FOLLOWERS_MAX // 2
"""Maximum questions of one caller waiting for new records, so that others can wait, too."""

END = "end"
"""The point for which the controller answers, from its current state."""

_NAMES = "topics describe"
"""Name of the question that is used to look up topic names."""

STOP_WAIT_S = 2.0
"""How long questions in progress may take when the service ends."""

MIN_OFFSET_WAIT_S = 10.0
"""Longest wait until a question's `min_offset` is committed; clients wait longer for answers."""

EARLY_MAX = 1_000
EARLY_A_CALLER_MAX = 100
"""Maximum questions of one caller waiting for their `min_offset` (EARLY_MAX: of all callers).
Over HTTP each occupies a connection, and one caller must not take all of them."""


Live = Callable[[], Awaitable[Any]]
"""Returns an answer that does not depend on the request."""


class Answers:
    """Answers questions about a service's log and its current state.

    Attributes:
        history_start: Offset of the first record of the kept history.
    """

    def __init__(
        self,
        log: ServedLog,
        ask: Callable[[Decision[Any]], Awaitable[Answer[Any]]],
        history: History,
        access: Callable[[Caller], Access],
        feed: Callable[[], Feed],
        *,
        standing: Callable[[], FollowerStatus | None],
        confirmed_end: Callable[[], Awaitable[int]],
        final_end: Callable[[int], Awaitable[int]],
        is_live: bool = True,
        workers: Workers | None = None,
        live: Mapping[str, Live] = MappingProxyType({}),
    ) -> None:
        """Create the answers for the log of a controller.

        Args:
            ask: Answers a question from the current state, once that state is committed.
            history: The committed images; wakes waiting questions.
            access: Returns a caller's current rights.
            feed: Returns the feed of the newest records.
            standing: Returns the status of this process if it follows another process's log.
            confirmed_end: Returns the end offset of the log, confirmed after the call.
            final_end: Returns the end of the final records, given the log's end.
            is_live: False for a log that may be a copy; see `PagedLog`.
            workers: Worker processes of this log; None: start new ones.
            live: Questions about the present that only this process answers, by name.
        """
        for name in QUESTIONS:
            # Now: while it serves, an import would delay all other requests.
            find_question(name)
        importlib.import_module("replay.expressions.compiler")
        with log.reader() as reader:
            self.history_start = reader.history_start
        self._ask = ask
        self._access = access
        self._history = history
        self._feed = feed
        self._standing = standing
        self._confirmed_end = confirmed_end
        self._final_end = final_end
        self._live = live
        self._followers = Waiters("subscriptions are waiting for records")
        self._early = Waiters("questions are waiting for their min_offset")
        self._workers = workers or Workers(log.directory, is_live=is_live)
        self._visible = VisiblePages()
        self._stopping = asyncio.Event()
        self._end: asyncio.Task[None] | None = None

    def use_sql_history(self, url: str) -> None:
        """Answer from the SQL history in a database, not from that in the log's directory."""
        self._workers.sql_history = url

    def cut(self, history_start: int) -> None:
        """Record a new start of history, after old segments were dropped by another process."""
        self.history_start = max(self.history_start, history_start)

    async def page(
        self,
        name: str,
        payload: bytes,
        *,
        caller: Caller,
        at: str = END,
        cursor: Cursor | None = None,
        limit: int | None = None,
        min_offset: int | None = None,
        consistent: bool = False,
    ) -> Page:
        """Return a page of an answer; see `PagedLog.page`.

        Args:
            cursor: The start of the page, at the offset of the page before. If the log has grown
                since, the answer is computed from the log, without information from heartbeats.
            min_offset: An offset that the answer must include; waits for a while until it is
                committed.
            consistent: Include every change that any node answered before this call: as
                `up_to_date`.

        Raises:
            RequestError: TOPIC_AUTHORIZATION_FAILED or CLUSTER_AUTHORIZATION_FAILED; or
                OFFSET_NOT_AVAILABLE, `min_offset` is not committed in time; or an error of the
                question itself.
            UnavailableError: as `Controller.submit`; or the answer cannot be computed now.
            FencedError: as `Controller.submit`.
        """
        if consistent:
            await self.up_to_date(caller)
        if min_offset is not None:
            await self.holds(min_offset, caller)
        page = await self._page(name, payload, caller, at, cursor, limit)
        standing = self._standing()
        if page.about is None or standing is None:
            return page
        about = replace(page.about, node=standing.node, lag_ms=standing.lag_ms)
        return replace(page, about=about)

    async def _page(
        self,
        name: str,
        payload: bytes,
        caller: Caller,
        at: str,
        cursor: Cursor | None,
        limit: int | None,
    ) -> Page:
        question = find_question(name)
        request = from_wire(payload, question.request)
        pinned = None if cursor is None else cursor.points.get(at)
        if at == END and (live := self._live.get(name)) is not None:
            return await self._of_the_moment(question, request, caller, live)
        if question.tell is None and at == END and pinned in (None, self._last_offset):
            page = await self._of_present(question, request, caller)
            if pinned is None or page.points == {at: pinned}:
                return page
        access = self._access(caller)
        guard_of(question).check_caller(access)
        by_name = not access.allows_all and not access.allows(Operation.DESCRIBE, CLUSTER)
        if by_name and (ids := topic_ids(request)):
            names, cursor = await self._names(ids, at, cursor)
            access = replace(access, past_names=names)
            request = with_names(request, _seen(access, names))
            payload = to_wire(request)
        guard_of(question).check_request(access, request)
        if isinstance(request, FollowRows) and at == END and is_offset(request.first):
            check_types(request.types)
            await self.rows_come(request, caller)
            if (rows := followed_rows(self._feed(), request)) is not None:
                return Page(payload=rows, about=self._about_feed())
        shown = guard_of(question).shown
        if shown is None or access.allows_all:
            return await self._workers.page(name, payload, at, cursor, limit=limit, by_name=by_name)
        if question.item is not None:
            return await self._visible.page(
                (name, payload, at, caller.principal, caller.host, by_name),
                question,
                partial(self._workers.page, name, payload, at, by_name=by_name),
                partial(shown, access, request),
                cursor,
                limit=limit,
            )
        page = await self._workers.page(name, payload, at, cursor, by_name=by_name)
        response = page.content(question.response)
        return replace(page, payload=to_wire(shown(access, request, response)))

    async def _names(
        self, topic_ids: frozenset[Uuid], at: str, cursor: Cursor | None
    ) -> tuple[dict[Uuid, str], Cursor]:
        """Return the full names that topics had at a point, and a cursor with that point's offset.

        Topics that did not exist are left out. The cursor keeps all pages at the same offset.
        """
        pinned = None if cursor is None else cursor.points.get(at)
        wanted = DescribeTopics(topics=tuple(sorted(topic_ids)))
        point = at if pinned is None else str(pinned)
        page = await self._workers.page(_NAMES, to_wire(wanted), point, None)
        assert page.about is not None, "an answer of one page says where it stands"
        found = page.content(find_question(_NAMES).response).topics
        names = {t.description.topic_id: t.description.name for t in found if t.description}
        if cursor is None or pinned is None:
            cursor = Cursor(0, {at: page.about.as_of})
        return names, cursor

    async def rows_come(self, request: FollowRows, caller: Caller) -> None:
        """Wait until the first requested record is committed; at most the request's `wait_ms`.

        Raises:
            UnavailableError: too many questions are waiting.
        """
        if request.wait_ms > 0 and is_offset(request.first):
            wait_s = min(request.wait_ms, FOLLOW_WAIT_MS_MAX) / 1_000
            with self._followers.counted(caller, FOLLOWERS_MAX, FOLLOWERS_A_CALLER_MAX):
                await self._comes(int(request.first), wait_s)

    async def up_to_date(self, caller: Caller) -> None:
        """Wait until this process has all records that the log's store had when this was called.

        Raises:
            RequestError, UnavailableError: as `holds`; or the store did not confirm.
        """
        end_offset = await self._confirmed_end()
        if end_offset > 0:
            await self.holds(end_offset - 1, caller)

    async def holds(self, min_offset: int, caller: Caller) -> None:
        """Wait until an offset is committed; call this before reserving anything for the answer.

        Raises:
            RequestError: OFFSET_NOT_AVAILABLE, it is not committed in time.
            UnavailableError: too many questions are waiting.
        """
        with self._early.counted(caller, EARLY_MAX, EARLY_A_CALLER_MAX):
            await self._comes(min_offset, MIN_OFFSET_WAIT_S)
        end = self._history.image.provenance.next_offset
        if end <= min_offset:
            raise not_available(min_offset, end)

    async def _comes(self, offset: int, wait_s: float) -> None:
        """Wait until the record at an offset is committed, but at most `wait_s`.

        Also ends when the service is stopping.
        """
        if self._history.image.provenance.next_offset > offset:
            return
        await first_of(self._feed().beyond(offset, wait_s), self._stopping.wait())

    @property
    def _last_offset(self) -> int:
        return self._history.image.provenance.next_offset - 1

    def _about_feed(self) -> About:
        end = self._feed().end_offset
        return About(
            as_of=end - 1,
            history_start=self.history_start,
            log_end=end,
            not_understood=self._history.image.provenance.not_understood,
        )

    def stop(self) -> None:
        """Begin to stop: answer the questions that wait for new records now.

        Other questions still in progress fail after STOP_WAIT_S.
        """
        self._stopping.set()
        self._end = asyncio.create_task(self._end_workers())

    async def _end_workers(self) -> None:
        await asyncio.sleep(STOP_WAIT_S)
        await self._workers.close()

    async def close(self) -> None:
        """Stop answering; end the workers."""
        if self._end is not None:
            self._end.cancel()
        await self._workers.close()

    async def _of_the_moment(
        self, question: Question, request: Any, caller: Caller, live: Live
    ) -> Page:
        """Answer with live data that only this process has."""
        access = self._access(caller)
        guard_of(question).check_caller(access)
        guard_of(question).check_request(access, request)
        payload, found = to_wire(await live()), self._history.image.provenance
        end = found.next_offset
        log = Bounds(self.history_start, end, await self._final_end(end))
        return Page(payload=payload, about=about_provenance(log, found, end - 1))

    async def _of_present(self, question: Question, request: Any, caller: Caller) -> Page:
        """Answer from the controller's current state, once that state is committed."""
        decide = partial(_with_provenance, question, caller)
        answer = await self._ask(BoundDecision(question.name, decide, request, question.response))
        response, found = answer.response
        end = answer.end_offset
        log = Bounds(self.history_start, end, await self._final_end(end))
        about = about_provenance(log, found, end - 1)
        points = {END: about.as_of}
        return Page(payload=to_wire(response), about=about, points=points, made=response)


def _seen(access: Access, names: Mapping[Uuid, str]) -> dict[Uuid, str]:
    """Return the names that a refusal may contain; the ids of other topics stay as they are."""
    return {
        topic_id: name
        for topic_id, name in names.items()
        if access.allows(Operation.DESCRIBE, topic_resource(name))
    }


def _with_provenance(
    question: Question, caller: Caller, context: Context, request: Any
) -> ControllerResult[tuple[Any, Provenance]]:
    result = guard_of(question).decide(
        partial(described, question), replace(context, caller=caller), request
    )
    return ControllerResult(response=(result.response, context.image.provenance))


class Waiters:
    """Limits how many questions wait for records at once: all together, and of one caller."""

    def __init__(self, what: str) -> None:
        """Start with no waiting question; `what` names them in errors."""
        self._what = what
        self._by_caller: Counter[tuple[str, str | None]] = Counter()

    @contextmanager
    def counted(self, caller: Caller, all_max: int, caller_max: int) -> Iterator[None]:
        """Count one more waiting question for the `with` block.

        Raises:
            UnavailableError: too many are waiting, of this caller or together.
        """
        key = (caller.principal, caller.host)
        if self._by_caller.total() >= all_max:
            raise UnavailableError(
                f"the service is at its limit: {all_max} {self._what}; try again later"
            )
        if self._by_caller[key] >= caller_max:
            raise UnavailableError(
                f"{caller.principal} is at the limit of one caller: {caller_max} {self._what}; "
                "try again later"
            )
        self._by_caller[key] += 1
        try:
            yield
        finally:
            self._by_caller[key] -= 1
            if not self._by_caller[key]:
                del self._by_caller[key]
