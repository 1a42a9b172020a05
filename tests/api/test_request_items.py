"""Requests with more items than a limit are refused before anything is looked up."""

from typing import Any

import pytest

from api.controller_server.listener import FROM_BROKERS
from api.kafka import apis, frames
from api.kafka.apis import Api
from api.kafka.fields import Message
from api.kafka.frames import ITEMS_MAX, LENGTH
from api.kafka.layouts import message_layout
from api.requests.commands import COMMANDS
from controller import wire
from records.base import Record
from records.errors import RequestError
from records.kafka.layout import ArrayOf, FieldType, Layout

SCALARS: dict[str, Any] = {"bool": False, "float64": 0.0, "string": "x", "bytes": b""}


def _value(of: FieldType, count: int) -> Any:
    """Return a value of a type, whose arrays have one item; `count` more of the first array."""
    match of:
        case Layout():
            return _structure(of, count)
        case ArrayOf(item):
            return (_value(item, 1),) * count
        case "uuid":
            return bytes(range(16))
    return SCALARS.get(str(of), 1)


def _structure(layout: Layout, count: int) -> Record:
    values = {field.name: _value(field.type, count) for field in layout.fields}
    absent = {field.name: field.default for field in layout.absent}
    tagged = {field.name: field.default for field in layout.tagged}
    return layout.cls(**(absent | tagged | values))


def _counted(of: FieldType) -> bool:
    """True for an array whose items are counted; those of numbers are decoded at once."""
    return isinstance(of, ArrayOf) and of.item not in ("int32", "uuid", "int8", "int16", "int64")


VERSIONS = [
    (api, version) for api in apis.ALL for version in range(api.min_version, api.max_version + 1)
]


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda each: getattr(each, "name", each))
def test_requests_of_every_key_have_an_item_limit(api: Api, version: int) -> None:
    layout = message_layout(api.request, version, flexible=api.is_flexible(version))
    has_array = any(_counted(field.type) for field in layout.fields)

    def frame(count: int) -> bytes:
        body = _structure(layout, count)
        assert isinstance(body, Message)
        encoded = frames.encode_body(api, version, body)
        return frames.encode_raw_request(api, version, 1, encoded, "me")[LENGTH.size :]

    known = {api.key: api}
    assert frames.decode_request(frame(2), known).api is api
    if not has_array:
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
