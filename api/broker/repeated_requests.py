"""Repeats a request to the controller while another node begins to lead."""

import asyncio
from collections.abc import Awaitable, Callable

from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError

_WAIT_S = 10.0
"""Longest time: a lease of 3 s runs out and another node takes over. Kafka's clients wait 30 s."""

_PAUSE_S = 0.2


async def repeated(ask: Callable[[], Awaitable[bytes]], *, may_repeat: Callable[[], bool]) -> bytes:
    """Ask until there is an answer, or some seconds have passed.

    NOT_CONTROLLER means that nothing was changed, so the request is repeated. If a request was sent
    and not answered, that is not known, so only what may be asked twice is repeated.

    Args:
        ask: Sends the request to the node that leads, as far as it is known.
        may_repeat: Called before each attempt: True if nothing is done twice when the node that is
            asked now gets a request that another one may have carried out.

    Raises:
        RequestError, UnavailableError: as `ask` did at last; if an answer was lost, the error of
            that attempt, since its outcome is unknown whatever came after it.
    """
    now = asyncio.get_running_loop().time
    deadline = now() + _WAIT_S
    lost: UnavailableError | None = None
    while True:
        is_safe = may_repeat()
        if lost is not None and not is_safe:
            raise lost
        try:
            return await ask()
        except (RequestError, UnavailableError) as error:
            failure: MetadataLogError = error
        if isinstance(failure, UnavailableError) and failure.outcome is not Outcome.NOTHING:
            lost = failure
        is_final = isinstance(failure, RequestError) and failure.code != "NOT_CONTROLLER"
        if is_final or (lost is not None and not is_safe) or now() >= deadline:
            raise lost or failure
        await asyncio.sleep(_PAUSE_S)
