"""Which requests of a connection wait for each other, for every request of each listener."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.broker.dispatch import broker_dispatch
from api.controller_server.listener import FROM_BROKERS, ControllerListener, ListenerSettings
from api.kafka import apis
from api.kafka.apis import Api
from api.kafka.dispatch import DispatchTable
from api.kafka.fields import Request
from api.kafka.frames import RequestFrame
from api.kafka.messages.metadata import MetadataRequest
from api.kafka.messages.topics import RunCommandRequest
from api.kafka.request_order import RequestOrder, Turn
from controller.authorization.authorizer import ALLOW_ALL
from controller.authorization.caller import Caller
from tests.api.kafka.servers import server

ALONE, TOGETHER, ASIDE = Turn.ALONE, Turn.TOGETHER, Turn.ASIDE


async def begun(order: RequestOrder, *turns: Turn) -> tuple[list[int], list[asyncio.Event]]:
    """Begin requests, each given by its turn; return those that run, and their ends."""
    running: list[int] = []
    ends = [asyncio.Event() for _ in turns]

    async def work(number: int) -> int:
        running.append(number)
        await ends[number].wait()
        return number

    for number, turn in enumerate(turns):
        order.begin(work(number), turn)
    await asyncio.sleep(0.01)
    return running, ends


async def test_each_request_begins_once_the_one_before_is_answered() -> None:
    running, ends = await begun(RequestOrder(), ALONE, ALONE, ALONE)
    for number in range(3):
        assert running == list(range(number + 1))
        ends[number].set()
        await asyncio.sleep(0.01)


async def test_requests_that_overlap_wait_for_all_before_them_and_all_behind_wait_for_them() -> (
    None
):
    running, ends = await begun(RequestOrder(), TOGETHER, TOGETHER, ALONE, TOGETHER, TOGETHER)
    assert running == [0, 1]
    ends[1].set()
    await asyncio.sleep(0.01)
    assert running == [0, 1], "the first one is still in flight"
    ends[0].set()
    await asyncio.sleep(0.01)
    assert running == [0, 1, 2]
    ends[2].set()
    await asyncio.sleep(0.01)
    assert running == [0, 1, 2, 3, 4]
    for end in ends:
        end.set()


async def test_question_waits_for_what_is_before_it_and_holds_up_nothing() -> None:
    running, ends = await begun(RequestOrder(), ALONE, ASIDE, ALONE, ASIDE, TOGETHER)
    assert running == [0]
    ends[0].set()
    await asyncio.sleep(0.01)
    assert running == [0, 1, 2], "the first question still runs"
    ends[2].set()
    await asyncio.sleep(0.01)
    assert running == [0, 1, 2, 3, 4]
    for end in ends:
        end.set()


async def test_nothing_is_done_behind_a_request_that_failed() -> None:
    order = RequestOrder()

    async def fail() -> None:
        raise ValueError("the connection ends")

    async def work() -> None:
        pytest.fail("its turn never comes")

    failing = order.begin(fail(), ALONE)
    behind = order.begin(work(), ALONE)
    await behind
    assert isinstance(failing.exception(), ValueError)


def overlapping(dispatch: DispatchTable) -> set[Api]:
    """The requests of a listener that may begin while others of their kind are in flight."""
    frame = frame_of(apis.METADATA, MetadataRequest())
    turns = {api: dispatch.turn(replace(frame, api=api)) for api in dispatch.apis().values()}
    assert ASIDE not in turns.values(), "only questions of our own overtake"
    return {api for api, turn in turns.items() if turn is TOGETHER}


def frame_of(api: Api, body: Request) -> RequestFrame:
    return RequestFrame(api=api, version=0, correlation_id=0, client_id=None, body=body)


_COMMAND = RunCommandRequest(command="notes add", payload=b"")
COMMAND = frame_of(apis.RUN_COMMAND, _COMMAND)
QUESTION = frame_of(apis.RUN_COMMAND, replace(_COMMAND, command="topics list", point=""))


async def test_only_writes_overlap_at_a_broker() -> None:
    async def forward(frame: RequestFrame, caller: Caller) -> bytes:
        raise NotImplementedError

    dispatch = broker_dispatch("c", Cluster(), Authorization(ALLOW_ALL), {}, forward)
    handlers = {**dispatch.handlers, apis.PRODUCE: dispatch.handlers[apis.METADATA]}
    assert overlapping(replace(dispatch, handlers=handlers)) == {apis.PRODUCE}
    assert dispatch.turn(QUESTION) is ASIDE


async def test_only_requests_of_brokers_and_commands_overlap_at_the_controller(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as at:
        dispatch = ControllerListener(at.service, ListenerSettings()).dispatch_table()
        assert overlapping(dispatch) == {*FROM_BROKERS, apis.RUN_COMMAND}
        assert dispatch.turn(COMMAND) is TOGETHER
        assert dispatch.turn(QUESTION) is ASIDE
