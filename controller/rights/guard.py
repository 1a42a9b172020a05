"""Guards: authorize each item of a request before the decision.

A guard removes the items that the caller has no right to, passes the others to the decision, and
puts a refusal into the response for each removed item. So decisions need not deal with rights.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from controller.authorization.authorizer import CLUSTER, Access, Operation
from controller.decisions.context.context import Context
from controller.decisions.outcome import Refusal
from controller.results.result import ControllerResult
from controller.results.turns import Turns
from records.errors import RequestError

Q = TypeVar("Q")

Check = Callable[[Access, Any], None]
"""Raises RequestError if the caller may not make a request, or one item of it."""


NOTHING: ControllerResult[Any] = ControllerResult(response=())
"""The result for a request of which no item is allowed."""


def unchecked(access: Access, request: Any) -> None:
    """Accept every request; for commands whose rights are checked elsewhere."""


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """The items of a request, authorized one by one; the response has one result per item.

    `refused` returns the result for an item that the caller has no right to.
    """

    field: str
    check: Check
    refused: Callable[[Any, Refusal], Any]

    def allowed(self, access: Access, request: Any) -> tuple[Any, list[Refusal | None]]:
        """Return the request with the allowed items only, and the refusals of all items."""
        items: Sequence[Any] = getattr(request, self.field)
        refusals = self._refusals(access, items)
        if not any(refusals):
            return request, refusals
        allowed = [i for i, refusal in zip(items, refusals, strict=True) if refusal is None]
        return replace(request, **{self.field: tuple(allowed)}), refusals

    def merged(
        self, request: Any, refusals: Sequence[Refusal | None], result: ControllerResult[Any]
    ) -> ControllerResult[Any]:
        """Return a result with a refusal for each item that is not allowed."""
        if not any(refusals):
            return result
        items = getattr(request, self.field)
        return replace(result, response=self._merged(items, refusals, result.response))

    def all_refused(self, access: Access, request: Any) -> tuple[Any, ...] | None:
        """Return the response if no item is allowed, else None."""
        items: Sequence[Any] = getattr(request, self.field)
        refusals = self._refusals(access, items)
        return self._merged(items, refusals, ()) if _is_nothing(refusals) else None

    def masked(self, access: Access, request: Any, response: Sequence[Any]) -> tuple[Any, ...]:
        """Return an earlier response, with refusals for the items that are no longer allowed."""
        items: Sequence[Any] = getattr(request, self.field)
        refusals = self._refusals(access, items)
        kept = [r for r, refusal in zip(response, refusals, strict=True) if refusal is None]
        return self._merged(items, refusals, kept)

    def _refusals(self, access: Access, items: Sequence[Any]) -> list[Refusal | None]:
        return [self._refusal(access, item) for item in items]

    def _refusal(self, access: Access, item: Any) -> Refusal | None:
        try:
            self.check(access, item)
        except RequestError as error:
            return Refusal.of(error)
        return None

    def _merged(
        self, items: Sequence[Any], refusals: Sequence[Refusal | None], results: Sequence[Any]
    ) -> tuple[Any, ...]:
        rest = iter(results)
        return tuple(
            [
                next(rest) if refusal is None else self.refused(item, refusal)
                for item, refusal in zip(items, refusals, strict=True)
            ]
        )


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """The rights that a command needs.

    `operation` on the cluster is required of every caller, whatever the request says, so it can be
    checked before the request is read. `check` is for the request as a whole. `shown` receives the
    request and the response, including refused items, and removes the parts that the caller may not
    see.
    """

    operation: Operation | None = None
    check: Check = unchecked
    items: Items | None = None
    shown: Callable[[Access, Any, Any], Any] | None = None

    def check_caller(self, access: Access) -> None:
        """Refuse a caller whose requests would all be refused.

        Raises:
            RequestError: CLUSTER_AUTHORIZATION_FAILED.
        """
        if self.operation is not None:
            access.require(self.operation, CLUSTER)

    def check_request(self, access: Access, request: Any) -> None:
        """Check the rights for a request as a whole, but not for its items.

        Raises:
            RequestError: TOPIC_AUTHORIZATION_FAILED or CLUSTER_AUTHORIZATION_FAILED.
        """
        self.check_caller(access)
        self.check(access, request)

    def decide(
        self,
        decide: Callable[[Context, Any], ControllerResult[Any]],
        context: Context,
        request: Any,
    ) -> ControllerResult[Any]:
        """Decide on the allowed part of a request.

        Raises:
            RequestError: an error of the decision; or TOPIC_AUTHORIZATION_FAILED or
                CLUSTER_AUTHORIZATION_FAILED for the whole request.
        """
        wanted, refusals = self._allowed(context.access, request)
        result = NOTHING if _is_nothing(refusals) else decide(context, wanted)
        return self._shown(context.access, request, refusals, result)

    def decide_in_turns(
        self,
        decide: Callable[[Context, Any], Turns[ControllerResult[Any]]],
        context: Context,
        request: Any,
    ) -> Turns[ControllerResult[Any]]:
        """Decide like `decide`, in several turns of the event loop."""
        wanted, refusals = self._allowed(context.access, request)
        result = NOTHING if _is_nothing(refusals) else (yield from decide(context, wanted))
        return self._shown(context.access, request, refusals, result)

    def _allowed(self, access: Access, request: Any) -> tuple[Any, Sequence[Refusal | None]]:
        self.check_request(access, request)
        return (request, ()) if self.items is None else self.items.allowed(access, request)

    def _shown(
        self,
        access: Access,
        request: Any,
        refusals: Sequence[Refusal | None],
        result: ControllerResult[Any],
    ) -> ControllerResult[Any]:
        """Return a result with the refused items, without what the caller may not see."""
        if self.items is not None:
            result = self.items.merged(request, refusals, result)
        if self.shown is None:
            return result
        return replace(result, response=self.shown(access, request, result.response))

    def check_all(self, access: Access, request: Any) -> None:
        """Refuse a request as a whole if one of its items is not allowed.

        Raises:
            RequestError: TOPIC_AUTHORIZATION_FAILED or CLUSTER_AUTHORIZATION_FAILED.
        """
        self.check_request(access, request)
        if self.items is not None:
            for item in getattr(request, self.items.field):
                self.items.check(access, item)

    def refused(self, access: Access, request: Any) -> Any | None:
        """Return the response if no item of a request is allowed now, else None.

        Raises:
            RequestError: TOPIC_AUTHORIZATION_FAILED or CLUSTER_AUTHORIZATION_FAILED.
        """
        self.check_request(access, request)
        return None if self.items is None else self.items.all_refused(access, request)

    def shown_again(self, access: Access, request: Any, response: Any) -> Any:
        """Return the parts of an earlier response that the caller may see; call `refused` first."""
        if self.items is not None:
            response = self.items.masked(access, request, response)
        return response if self.shown is None else self.shown(access, request, response)


def _is_nothing(refusals: Sequence[Refusal | None]) -> bool:
    """True if there are items, and all are refused."""
    return bool(refusals) and all(refusals)
