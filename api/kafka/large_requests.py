"""Large requests: the event loop serves other requests while a large one is answered.

Work on immutable data is done in a thread (`api.large_work`). Work on data that changes, such as
the replicas of a broker, is done in several turns of the event loop.
"""

from collections.abc import Callable

from api.kafka.fields import Response
from api.kafka.frames import RequestFrame, encode_body
from api.large_work import LARGE_BYTES, in_thread
from controller.turns_for_others import leave_turns

ITEMS_A_TURN = 500
"""Items handled in one turn of the event loop, which takes some 5 ms."""


async def answered_beside(frame: RequestFrame, respond: Callable[[], Response]) -> Response | bytes:
    """Return the response to a request; if the request is large, as a body encoded in a thread."""
    if len(frame.raw) <= LARGE_BYTES:
        return respond()
    return await in_thread(lambda: encode_body(frame.api, frame.version, respond()))


class Turns:
    """Lets the event loop serve other requests after every ITEMS_A_TURN items."""

    def __init__(self) -> None:
        self._items = 0

    async def item(self) -> None:
        """Count an item; let other requests have their turn if it is time."""
        self._items += 1
        if self._items % ITEMS_A_TURN == 0:
            await leave_turns()
