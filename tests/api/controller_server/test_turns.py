"""Answers to long requests give others their turn."""

import asyncio
from pathlib import Path

from api.controller_server.listener import (
    RESOURCES_A_TURN,
    ControllerListener,
    ListenerSettings,
)
from api.kafka import apis
from api.kafka.frames import RequestFrame
from api.kafka.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from controller.authorization.caller import Caller
from replay.image.configs import TOPIC
from tests.api.kafka.servers import server


async def test_a_description_of_many_configs_gives_others_their_turn(tmp_path: Path) -> None:
    count = 4 * RESOURCES_A_TURN
    named = [
        DescribeConfigsResource(resource_type=TOPIC, resource_name=f"invented-{number}")
        for number in range(count)
    ]
    body = DescribeConfigsRequest(resources=tuple(named))
    frame = RequestFrame(
        api=apis.DESCRIBE_CONFIGS, version=4, correlation_id=1, client_id="me", body=body
    )
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with server(tmp_path) as at:
        listener = ControllerListener(at.service, ListenerSettings())
        watching = asyncio.create_task(others())
        response = await listener.dispatch_table().handlers[apis.DESCRIBE_CONFIGS](frame, Caller())
        watching.cancel()
    assert isinstance(response, DescribeConfigsResponse)
    assert len(response.results) == count
    assert turns >= count / RESOURCES_A_TURN
