"""Answers of a running service, limited to what the caller may see."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from api.questions.pages import Cursor, Page
from api.questions.table import Question, find_question
from api.questions.workers import Workers
from controller.asked import BoundDecision
from controller.authorization.authorizer import Access
from controller.authorization.caller import Caller
from controller.controller import Controller
from controller.decisions.context import Context
from controller.packed import packed, unpacked
from controller.result import ControllerResult
from metadata_log.log_reader import LogReader
from replay.about import About
from replay.image.provenance import Provenance

END = "end"
"""The point that the controller itself answers."""


class Answers:
    """Answers questions about a service's log and its current state."""

    def __init__(
        self, directory: Path, controller: Controller, access: Callable[[Caller], Access]
    ) -> None:
        """Use a controller's log; `access` returns a caller's current rights."""
        with LogReader.open(directory) as reader:
            # History cannot be cut while the log is being written.
            self._history_start = reader.history_start
        self._controller = controller
        self._access = access
        self._workers = Workers(directory)

    async def page(
        self,
        name: str,
        payload: bytes,
        *,
        caller: Caller,
        at: str = END,
        cursor: Cursor | None = None,
    ) -> Page:
        """Return a page of an answer; see `PagedLog.page`.

        Raises:
            RequestError: TOPIC_AUTHORIZATION_FAILED or CLUSTER_AUTHORIZATION_FAILED; or the
                question's own.
            UnavailableError, FencedError: as `Controller.submit`; or the answer cannot be computed
                now.
        """
        question = find_question(name)
        request = unpacked(payload, question.request)
        if question.describe is not None and at == END:
            return await self._of_present(question, request, caller)
        access = self._access(caller)
        question.guard.check(access, request)
        page = await self._workers.page(name, payload, at, cursor)
        return _shown(question, access, request, page)

    async def close(self) -> None:
        """Stop answering."""
        await self._workers.close()

    async def _of_present(self, question: Question, request: Any, caller: Caller) -> Page:
        """Answer from the latest state, once that is committed."""
        decide = partial(_with_provenance, question, caller)
        answer = await self._controller.submit(
            BoundDecision(question.name, decide, request, question.response)
        )
        response, found = answer.response
        about = About(
            as_of=answer.end_offset - 1,
            history_start=self._history_start,
            log_end=answer.end_offset,
            not_understood=found.not_understood,
            as_of_timestamp=found.timestamp,
        )
        return Page(payload=packed(response), about=about)


def _with_provenance(
    question: Question, caller: Caller, context: Context, request: Any
) -> ControllerResult[tuple[Any, Provenance]]:
    result = question.guard.decide(question.decide, replace(context, caller=caller), request)
    return ControllerResult(response=(result.response, context.image.provenance))


def _shown(question: Question, access: Access, request: Any, page: Page) -> Page:
    """Remove what the caller may not see."""
    if question.guard.shown is None or access.allows_all:
        return page
    response = unpacked(page.payload, question.response)
    return replace(page, payload=packed(question.guard.shown(access, request, response)))
