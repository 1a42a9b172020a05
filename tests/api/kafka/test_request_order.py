"""Which requests of a connection wait for each other, for every request of each listener."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.broker.answering import broker_answering
from api.broker.authorization import Authorization
from api.broker.cluster import Cluster
from api.controller_server.listener import FROM_BROKERS, ControllerListener, ListenerSettings
from api.kafka import apis
from api.kafka.answering import Answering
from api.kafka.apis import Api
from api.kafka.fields import Request
from api.kafka.frames import RequestFrame
from api.kafka.messages.metadata import MetadataRequest
from api.kafka.messages.topics import RunCommandRequest
from api.kafka.request_order import RequestOrder
from controller.authorization.authorizer import ALLOW_ALL
from controller.authorization.caller import Caller
from tests.api.kafka.servers import server


async def begun(order: RequestOrder, *requests: bool) -> tuple[list[int], list[asyncio.Event]]:
    """Begin requests, each given as whether it overlaps; return those that run, and their ends."""
    running: list[int] = []
    ends = [asyncio.Event() for _ in requests]

    async def work(number: int) -> int:
        running.append(number)
        await ends[number].wait()
        return number

    for number, overlaps in enumerate(requests):
        order.begin(work(number), overlaps=overlaps)
    await asyncio.sleep(0.01)
    return running, ends


async def test_each_request_begins_once_the_one_before_is_answered() -> None:
    running, ends = await begun(RequestOrder(), False, False, False)
    for number in range(3):
        assert running == list(range(number + 1))
        ends[number].set()
        await asyncio.sleep(0.01)


async def test_requests_that_overlap_wait_for_all_before_them_and_all_behind_wait_for_them() -> (
    None
):
    running, ends = await begun(RequestOrder(), True, True, False, True, True)
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


async def test_nothing_is_done_behind_a_request_that_failed() -> None:
    order = RequestOrder()

    async def fail() -> None:
        raise ValueError("the connection ends")

    async def work() -> None:
        pytest.fail("its turn never comes")

    failing = order.begin(fail(), overlaps=False)
    behind = order.begin(work(), overlaps=False)
    await behind
    assert isinstance(failing.exception(), ValueError)


def overlapping(answering: Answering) -> set[Api]:
    """The requests of a listener that may begin while others of their kind are in flight."""
    apis_ = answering.apis().values()
    frame = frame_of(apis.METADATA, MetadataRequest())
    return {api for api in apis_ if answering.overlaps(replace(frame, api=api))}


def frame_of(api: Api, body: Request) -> RequestFrame:
    return RequestFrame(api=api, version=0, correlation_id=0, client_id=None, body=body)


async def test_only_writes_overlap_at_a_broker() -> None:
    async def forward(frame: RequestFrame, caller: Caller) -> bytes:
        raise NotImplementedError

    answering = broker_answering("c", Cluster(), Authorization(ALLOW_ALL), {}, forward)
    handlers = {**answering.handlers, apis.PRODUCE: answering.handlers[apis.METADATA]}
    assert overlapping(replace(answering, handlers=handlers)) == {apis.PRODUCE}


async def test_only_requests_of_brokers_and_commands_overlap_at_the_controller(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as at:
        answering = ControllerListener(at.service, ListenerSettings()).answering()
        assert overlapping(answering) == FROM_BROKERS
        command = RunCommandRequest(command="notes add", payload=b"")
        question = replace(command, command="topics list", point="")
        assert answering.overlaps(frame_of(apis.RUN_COMMAND, command))
        assert not answering.overlaps(frame_of(apis.RUN_COMMAND, question))
