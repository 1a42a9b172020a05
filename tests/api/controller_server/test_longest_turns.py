"""No turn of the event loop decides about all items of a large request.

What is measured are calls of Python functions in the event loop's thread, the same on every
machine. A decision takes one turn, so requests for decisions have a limit of items instead
(`tests/api/test_request_items.py`).
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.broker.dispatch import broker_dispatch
from api.broker.forwarding import FORWARDED
from api.controller_server.forwarded_requests import Forwarded, answering
from api.controller_server.listener import FROM_BROKERS, ControllerListener, ListenerSettings
from api.kafka import apis, frames
from api.kafka.apis import Api
from api.kafka.dispatch import DispatchTable
from api.kafka.envelopes import is_question
from api.kafka.frames import LENGTH, RequestFrame
from api.kafka.translations import TRANSLATIONS
from api.requests.commands import COMMANDS
from api.security.listeners import LOCAL
from benchmarks.request_turns import Turns, has_items, request_frame
from controller.authorization.acls import AclAuthorizer
from controller.authorization.authorizer import ALLOW_ALL, Authorizer
from controller.authorization.caller import Caller
from controller.decisions.context.context import Settings
from records.errors import UnavailableError
from tests.api.kafka.servers import Server, server

AUTHORIZERS: dict[str, Authorizer] = {"all": ALLOW_ALL, "none": AclAuthorizer()}

DECIDED = FROM_BROKERS | {
    *(api for api, translation in TRANSLATIONS.items() if translation.command in COMMANDS),
    apis.CREATE_TOPICS,
    apis.DELETE_TOPICS,
    apis.DELETE_PARTITIONS,
    apis.UPDATE_FEATURES,
}
FEW, MANY = 1_000, 4_000
CALLS_AN_ITEM_MAX = 10
"""In one turn: all items are read, and their results made, in some 2 us each. A refusal takes 20 to
43 calls."""


class _Calls:
    """Counts the calls of Python functions in this thread while a `with` block runs."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "_Calls":
        self._before = sys.getprofile()
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _called(self, _frame: FrameType, event: str, _argument: Any) -> None:
        self.count += event == "call"


async def _longest_turn(
    dispatch: DispatchTable, api: Api, count: int, request_id: str | None = None
) -> float:
    """Return the number of calls in the longest turn while a request is answered.

    Args:
        request_id: The id with which a broker forwarded the request.
    """
    frame = _frame(api, count)
    with _Calls() as calls, answering(Forwarded(request_id)):
        turns = Turns(lambda: calls.count)
        async with turns.measured():
            await dispatch.handlers[api](frame, Caller())
    return turns.longest


def _frame(api: Api, count: int) -> RequestFrame:
    raw = request_frame(api, api.max_version, count)[LENGTH.size :]
    return frames.decode_request(raw, {api.key: api})


def _of_controller(at: Server) -> DispatchTable:
    return ControllerListener(at.service, ListenerSettings()).dispatch_table()


async def _check(dispatch: DispatchTable, skipped: frozenset[Api]) -> None:
    checked = 0
    grown = {}
    for api in dispatch.handlers.keys() - skipped:
        if not has_items(api, api.max_version):
            continue
        await _longest_turn(dispatch, api, 1)  # what happens only once
        few = await _longest_turn(dispatch, api, FEW)
        many = await _longest_turn(dispatch, api, MANY)
        checked += 1
        if many - few > CALLS_AN_ITEM_MAX * (MANY - FEW):
            grown[api.name] = (few, many)
    assert not grown
    assert checked > 5


@pytest.mark.parametrize("rights", AUTHORIZERS)
async def test_answers_of_the_service_take_turns(tmp_path: Path, rights: str) -> None:
    settings = Settings(authorizer=AUTHORIZERS[rights])
    async with server(tmp_path, settings=settings) as at:
        await _check(_of_controller(at), frozenset(DECIDED))


@pytest.mark.parametrize("rights", AUTHORIZERS)
async def test_answers_of_a_broker_take_turns(rights: str) -> None:
    async def forward(_frame: RequestFrame, _caller: Caller) -> bytes:
        raise UnavailableError("there is no controller")

    authorization = Authorization(AUTHORIZERS[rights])
    dispatch = broker_dispatch("c", Cluster(LOCAL), authorization, {}, forward)
    await _check(dispatch, frozenset(FORWARDED))


async def test_an_id_makes_no_turn_longer(tmp_path: Path) -> None:
    settings, longer, checked = Settings(authorizer=AUTHORIZERS["none"]), {}, 0
    async with server(tmp_path, settings=settings) as at:
        dispatch = _of_controller(at)
        for api in FORWARDED:
            if not has_items(api, api.max_version) or is_question(_frame(api, 1)):
                continue  # brokers give ids to changes only
            await _longest_turn(dispatch, api, 1)  # what happens only once
            without = await _longest_turn(dispatch, api, FEW)
            with_id = await _longest_turn(dispatch, api, FEW, request_id=f"{api.name}-1")
            checked += 1
            if with_id - without > FEW:
                longer[api.name] = (without, with_id)
    assert not longer
    assert checked > 5
