"""Checks of a long request's items, in turns with other work."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from api.requests.command import Command
from controller.authorization.authorizer import Access
from controller.turns_for_others import leave_turns

ITEMS_A_TURN = 500
"""Items checked in one turn of the event loop, which takes some 10 ms."""


async def refused_items(
    command: Command, request: Any, access: Callable[[], Access]
) -> tuple[Any, ...] | None:
    """Return the response to a long request if none of its items is allowed, else None.

    So a request whose caller lacks all rights is refused before the decision, and delays no other
    request.

    Args:
        access: Returns the caller's current rights.

    Raises:
        RequestError: as `Guard.refused`.
    """
    items = command.guard.items
    if items is None:
        return None
    wanted = getattr(request, items.field)
    if len(wanted) <= ITEMS_A_TURN:
        return None  # the decision checks them
    refused: list[Any] = []
    for start in range(0, len(wanted), ITEMS_A_TURN):
        turn = replace(request, **{items.field: wanted[start : start + ITEMS_A_TURN]})
        found = command.guard.refused(access(), turn)
        if found is None:
            return None
        refused += found
        await leave_turns()
    return tuple(refused)
