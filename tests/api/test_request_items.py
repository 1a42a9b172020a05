"""Requests with more items than a limit are refused before anything is looked up."""

import pytest

from api.controller_server.listener import FROM_BROKERS
from api.kafka import apis, frames
from api.kafka.apis import Api
from api.kafka.frames import ITEMS_MAX, LENGTH
from api.requests.commands import COMMANDS
from benchmarks.request_turns import has_items, request_frame
from controller import wire
from records.errors import RequestError

VERSIONS = [
    (api, version) for api in apis.ALL for version in range(api.min_version, api.max_version + 1)
]


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda each: getattr(each, "name", each))
def test_requests_of_every_key_have_an_item_limit(api: Api, version: int) -> None:
    def frame(count: int) -> bytes:
        return request_frame(api, version, count)[LENGTH.size :]

    known = {api.key: api}
    assert frames.decode_request(frame(2), known).api is api
    if not has_items(api, version):
        return
    large = frame(ITEMS_MAX + 1)
    for raw in (large, large + b"\0"):  # compiled, and by the reference
        with pytest.raises(RequestError, match=f"at most {ITEMS_MAX} items"):
            frames.decode_request(raw, known)
    assert frames.decode_request(large, known, FROM_BROKERS | {api}).api is api


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_over_connections_has_an_item_limit(name: str) -> None:
    raw = wire.to_wire({"items": [0] * (wire.ITEMS_MAX + 1)})
    with pytest.raises(RequestError, match=f"at most {wire.ITEMS_MAX} items"):
        wire.from_wire(raw, COMMANDS[name].request)
