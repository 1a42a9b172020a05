"""Metadata responses for all topics of a service."""

import asyncio
from pathlib import Path

from api.controller_server.listener import ControllerListener, ListenerSettings
from api.kafka import apis, frames
from api.kafka.fields import Response
from api.kafka.frames import LENGTH
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse
from api.service.service import Service
from controller.authorization.caller import Caller
from tests.own_logs import write_history

VERSION = 12


def test_metadata_of_all_topics_leaves_the_event_loop_to_others(tmp_path: Path) -> None:
    asyncio.run(_ask_for_all(tmp_path / "log"))


async def _ask_for_all(log: Path) -> None:
    await write_history(log, seed=1, batches=40)
    service = await Service.open(log, with_timers=False)
    try:
        handlers = ControllerListener(service, ListenerSettings()).dispatch_table().handlers
        raw = frames.encode_request(apis.METADATA, VERSION, 1, MetadataRequest(topics=None))
        frame = frames.decode_request(raw[LENGTH.size :], {apis.METADATA.key: apis.METADATA})
        asked = asyncio.ensure_future(handlers[apis.METADATA](frame, Caller()))
        await asyncio.sleep(0)  # the request begins, and then others have their turn
        assert not asked.done()
        response = _decoded(await asked)
        assert isinstance(response, MetadataResponse)
        names = [service.image.full_name(topic) for topic in service.image.topics()]
        assert names, "the history has topics"
        assert [topic.name for topic in response.topics] == sorted(names)
    finally:
        await service.close()


def _decoded(body: Response | bytes | None) -> Response:
    assert isinstance(body, bytes)
    whole = frames.encode_raw_response(apis.METADATA, VERSION, 1, body)
    return frames.decode_response(whole[LENGTH.size :], apis.METADATA, VERSION)
