"""Requests with more items than a limit are refused before anything is looked up."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.controller_server.listener import UNLIMITED
from api.kafka import apis, frames
from api.kafka.apis import Api
from api.kafka.frames import ITEMS_MAX, LENGTH
from api.kafka.layouts import message_layout
from api.requests.commands import BROKER_COMMANDS, COMMANDS
from api.requests.json_requests import request_from_json
from api.requests.transactions import STEPS_MAX, Step, Transact
from benchmarks.request_turns import has_items, request_frame
from controller import wire
from controller.authorization.caller import Caller
from controller.decisions.topics.topics import DeleteTopics
from records.errors import RequestError
from records.kafka.layout import ArrayOf
from tests.api.kafka.servers import server


def _lists(api: Api, version: int) -> tuple[bool, list[str]]:
    """Return how a request's lists are counted, and their names."""
    layout = message_layout(api.request, version, flexible=api.is_flexible(version))
    names = [field.name for field in layout.fields if isinstance(field.type, ArrayOf)]
    return api.is_flexible(version), names


def _versions() -> Iterator[Any]:
    """Yield each version of each request; one with the lists of the version before is heavy."""
    for api in apis.ALL:
        for version in range(api.min_version, api.max_version + 1):
            is_first = version == api.min_version
            is_new = is_first or _lists(api, version) != _lists(api, version - 1)
            yield pytest.param(api, version, marks=[] if is_new else [pytest.mark.heavy])


VERSIONS = list(_versions())


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
    assert frames.decode_request(large, known, UNLIMITED | {api}).api is api


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_over_connections_has_an_item_limit(name: str) -> None:
    raw = wire.to_wire({"items": [0] * (wire.ITEMS_MAX + 1)})
    with pytest.raises(RequestError, match=f"at most {wire.ITEMS_MAX} items"):
        wire.from_wire(raw, COMMANDS[name].request)


def _with_items(name: str, count: int) -> Any:
    """Return the example of a command with so many items in its first list or map; None without."""
    example = COMMANDS[name].example
    assert example is not None
    for key, value in example.items():
        if isinstance(value, list):
            larger: Any = value[:1] * count
        elif isinstance(value, dict):
            larger = {f"{number}": next(iter(value.values())) for number in range(count)}
        else:
            continue
        return request_from_json(example | {key: larger}, COMMANDS[name].request)
    return None


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.example])
def test_every_decision_has_an_item_limit(name: str) -> None:
    command = COMMANDS[name]
    if command.items_max is None or _with_items(name, 1) is None:
        return
    command.check_items(_with_items(name, command.items_max))
    with pytest.raises(RequestError, match=f"at most {command.items_max} items"):
        command.check_items(_with_items(name, command.items_max + 1))


@pytest.mark.parametrize("name", COMMANDS | BROKER_COMMANDS)
def test_only_an_append_of_records_has_no_item_limit_of_its_own(name: str) -> None:
    # It has that of a batch.
    command = (COMMANDS | BROKER_COMMANDS)[name]
    assert (command.items_max is None) == (name == "records append")


def _deletion(count: int) -> Step:
    return Step.of("topics delete", DeleteTopics(topics=("t",) * count))


async def test_the_steps_of_a_transaction_share_an_item_limit(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        end = at.service.image.provenance.next_offset
        many = Transact(steps=(_deletion(STEPS_MAX - 1), _deletion(2)))
        with pytest.raises(RequestError, match=f"at most {STEPS_MAX} items"):
            await at.service.run("transaction", many, caller=Caller())
        with pytest.raises(RequestError, match=r"step 2 of 2.*at most 2000 items"):
            await at.service.run(
                "transaction", Transact(steps=(_deletion(1), _deletion(2_001))), caller=Caller()
            )
        allowed = Transact(steps=(_deletion(STEPS_MAX - 1), _deletion(1)))
        with pytest.raises(RequestError, match="there is no topic"):
            await at.service.run("transaction", allowed, caller=Caller())
        assert at.service.image.provenance.next_offset == end


async def test_requests_of_this_process_have_an_item_limit(tmp_path: Path) -> None:
    limit = COMMANDS["topics delete"].items_max
    assert limit is not None
    names = tuple([f"invented-{number}" for number in range(limit + 1)])
    async with server(tmp_path) as at:
        with pytest.raises(RequestError, match=f"at most {limit} items") as caught:
            await at.service.run("topics delete", DeleteTopics(topics=names), caller=Caller())
        assert caught.value.code == "MESSAGE_TOO_LARGE"
