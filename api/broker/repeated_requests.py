"""Repeats a request to the controller while another node begins to lead."""

import asyncio
from collections.abc import Awaitable, Callable

from records.errors import Outcome, RequestError, UnavailableError

_WAIT_S = 5.0
"""Longest time, in which a controller can restart; Kafka's clients wait 30 s for an answer."""

_PAUSE_S = 0.2


async def repeated(ask: Callable[[], Awaitable[bytes]], *, changes_nothing: bool) -> bytes:
    """Ask until there is an answer, or some seconds have passed.

    NOT_CONTROLLER means that nothing was changed, so the request is repeated. If a request was sent
    and not answered, that is not known, so only what changes nothing anyway is repeated.

    Args:
        ask: Sends the request to the node that leads, as far as it is known.

    Raises:
        RequestError, UnavailableError: as `ask` did at last.
    """
    deadline = asyncio.get_running_loop().time() + _WAIT_S
    while True:
        try:
            return await ask()
        except RequestError as error:
            if error.code != "NOT_CONTROLLER" or asyncio.get_running_loop().time() >= deadline:
                raise
        except UnavailableError as error:
            may_repeat = changes_nothing or error.outcome is Outcome.NOTHING
            if not may_repeat or asyncio.get_running_loop().time() >= deadline:
                raise
        await asyncio.sleep(_PAUSE_S)
