"""The controller's side of a broker's stream: pushes its view of the log, and takes its answers."""

import asyncio
from collections.abc import Callable

from api.kafka.frames import RequestFrame
from api.kafka.messages.metadata import MetadataBroker
from api.service import Service


class BrokerFeeds:
    def __init__(self, service: Service, node: Callable[[], MetadataBroker]) -> None:
        self._service = service

    async def feed(
        self, frame: RequestFrame, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        pass
