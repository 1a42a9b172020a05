"""Clients that connect to the wrong listener, and their error messages."""

from pathlib import Path

import pytest

from api.clients.service_url import connect
from api.security.listeners import LOCAL
from controller.descriptions.features import DescribeFeatures
from records.errors import UnavailableError
from tests.api.kafka.servers import server


@pytest.mark.parametrize("way", ["kafka", "socket"])
async def test_address_of_the_other_listener_is_named_with_its_url(
    tmp_path: Path, way: str
) -> None:
    async with server(tmp_path, socket=LOCAL) as at:
        kafka, socket = f"kafka://127.0.0.1:{at.port}", at.socket_url
        other = socket if way == "kafka" else kafka
        wrong = f"{way}://{other.partition('://')[2]}"
        with pytest.raises(UnavailableError, match=rf"before its first answer; .* write {other}"):
            async with await connect(wrong) as client:
                await client.page("features describe", DescribeFeatures())
