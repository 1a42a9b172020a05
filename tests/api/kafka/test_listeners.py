"""The listeners of a process start together."""

import asyncio
import socket

import pytest
from msgspec.structs import replace

from api.kafka.dispatch import DispatchTable
from api.kafka.listener import start_listeners
from api.security.listeners import LOCAL
from api.security.options import ListenerSecurities, SecurityOptions, users_of
from api.transport.connections import Connections
from api.transport.renewal import Renewal
from records.errors import UnavailableError
from replay.image.metadata import MetadataImage


async def test_no_listener_stays_open_if_another_address_is_in_use() -> None:
    with socket.socket() as taken, socket.socket() as free:
        ports = []
        for each in (free, taken):
            each.bind(("127.0.0.1", 0))
            ports.append(each.getsockname()[1])
        free.close()
        taken.listen()
        users = users_of(lambda: MetadataImage.EMPTY, "cluster", None)
        with pytest.raises(UnavailableError, match=str(ports[1])):
            await start_listeners(
                [replace(LOCAL, host="127.0.0.1", port=port) for port in ports],
                lambda address: DispatchTable(handlers={}),
                Connections(),
                ListenerSecurities(SecurityOptions(), users),
                Renewal(),
            )
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", ports[0])
