"""A broker's own listener shows a former tenant nothing of a topic that was moved away from it.

Bravo's topic, and a whole namespace of it, are moved to a namespace of another tenant whose name
bravo never heard. Bravo still knows the ids. What it asks about them is answered as for an id that
no topic has, and no answer has the new name; also while the broker has followed only half way.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.kafka import apis
from api.kafka.apis import by_key
from api.kafka.frames import RequestFrame, decode_request, encode_body
from api.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from api.kafka.messages.records_io import (
    NAMES_UNTIL,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
)
from api.service.service import Service
from controller.authorization.caller import Caller
from controller.decisions.namespaces.namespaces import CreateNamespace, MoveTopics
from records.base import ZERO_UUID, Uuid
from records.text import uuid_text
from tests.api.broker.records import batch
from tests.api.isolation.requests import Asker
from tests.api.isolation.test_broker import LocalBroker, framed, local_broker, random_frame
from tests.api.isolation.worlds import ALPHA, BRAVO, world
from tests.replay.builders import uid

_ADMIN = Caller(principal="User:admin", client_id="admin-client")
_HIDDEN = "alpha:hideout"
_MOVED = (BRAVO.topic_id("orders"), BRAVO.topic_id("plans"))
_NOBODYS = uid("nobody's")
_BY_ID = {
    *(apis.PRODUCE, apis.FETCH, apis.LIST_OFFSETS, apis.OFFSET_FOR_LEADER_EPOCH, apis.METADATA),
    *(apis.DELETE_TOPICS, apis.DESCRIBE_CONFIGS),
}
"""Requests that are asked about the ids at least."""

_SIZE = 60


class _MovedAsker(Asker):
    """Asks about a topic that was moved away, by its id, and about nothing else that there is."""

    def __init__(self, moved: Uuid, rng: random.Random) -> None:
        super().__init__(BRAVO, ALPHA, rng)
        self._ids = [moved]
        named = f"@{uuid_text(moved)}"
        # No topic can be created with this name: each request is answered by the same state.
        self._texts = [named, named, "", "bravo:no such topic"]


@contextlib.asynccontextmanager
async def _moved(directory: Path) -> AsyncIterator[tuple[Service, LocalBroker]]:
    """A cluster whose controller has moved the topics; its broker has not followed yet."""
    async with (
        world(directory / "log", BRAVO, ALPHA) as service,
        local_broker(service, directory / "broker") as broker,
    ):
        for request in (
            CreateNamespace(_HIDDEN),
            MoveTopics(from_namespace="bravo", to_namespace=_HIDDEN, topic="orders"),
            MoveTopics(from_namespace="bravo:inner", to_namespace=_HIDDEN),
        ):
            await service.run(_COMMANDS[type(request)], request, caller=_ADMIN)
        image = service.image
        names = {image.full_name(topic) for topic in image.topics() if topic.topic_id in _MOVED}
        assert names == {f"{_HIDDEN}:orders", f"{_HIDDEN}:plans"}
        yield service, broker


_COMMANDS = {CreateNamespace: "namespaces create", MoveTopics: "namespaces move"}


def _frames(broker: LocalBroker, moved: Uuid) -> Iterator[RequestFrame]:
    """Yield requests about a topic's id, of every API that can have it."""
    rng = random.Random(7)
    asker = _MovedAsker(moved, rng)
    # Every token is another one, and no topic is in it.
    for api in [api for api in broker.handlers if api is not apis.CREATE_DELEGATION_TOKEN]:
        for _ in range(_SIZE):
            frame = random_frame(api, asker, rng)
            if _twin(frame.raw, moved) != frame.raw:
                yield frame


def _twin(raw: bytes, moved: Uuid) -> bytes:
    """Return the bytes with the id of no topic in place of a moved topic's."""
    raw = raw.replace(moved, _NOBODYS)
    return raw.replace(uuid_text(moved).encode(), uuid_text(_NOBODYS).encode())


async def _answer(broker: LocalBroker, frame: RequestFrame) -> bytes:
    answer: Any = await broker.answer(frame, BRAVO.caller)
    if isinstance(answer, bytes):
        return answer
    # A write with acks=0 has no answer.
    return b"" if answer is None else encode_body(frame.api, frame.version, answer)


@pytest.mark.parametrize("moved", _MOVED, ids=["alone", "with its namespace"])
async def test_an_id_of_a_moved_topic_is_to_its_former_tenant_as_one_that_no_topic_has(
    tmp_path: Path, moved: Uuid
) -> None:
    asked = set()
    async with _moved(tmp_path) as (_, broker):
        await broker.rename()
        broker.update()
        for frame in _frames(broker, moved):
            other = decode_request(_twin(frame.raw, moved), by_key(apis.ALL))
            told = _twin(await _answer(broker, frame), moved)
            assert told == await _answer(broker, other), frame
            asked.add(frame.api)
    assert asked >= _BY_ID


@pytest.mark.parametrize("followed", ["not at all", "half way", "whole"])
async def test_no_answer_of_a_broker_names_where_a_topic_was_moved_to(
    tmp_path: Path, followed: str
) -> None:
    async with _moved(tmp_path) as (service, broker):
        if followed != "not at all":
            await broker.rename()
        if followed == "whole":
            broker.update()
        hidden = service.image.namespace_by_name(_HIDDEN)
        assert hidden is not None
        marks = (b"hideout", bytes(hidden.namespace_id), uuid_text(hidden.namespace_id).encode())
        for frame in [frame for moved in _MOVED for frame in _frames(broker, moved)]:
            answer = await _answer(broker, frame)
            assert [mark for mark in marks if mark in answer] == [], (frame, answer)


async def test_who_holds_a_moved_topic_reaches_it_by_its_id(tmp_path: Path) -> None:
    topics = [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in _MOVED]
    asked = MetadataRequest(topics=tuple(topics))
    async with _moved(tmp_path) as (_, broker):
        await broker.rename()
        broker.update()
        found = await broker.answer(framed(apis.METADATA, asked), ALPHA.caller)
    assert isinstance(found, MetadataResponse)
    assert [topic.name for topic in found.topics] == [f"{_HIDDEN}:orders", f"{_HIDDEN}:plans"]


@pytest.mark.parametrize("by_id", [False, True], ids=["by name", "by id"])
async def test_a_fetch_that_waits_gets_nothing_that_is_written_after_the_move(
    tmp_path: Path, by_id: bool
) -> None:
    orders = _MOVED[0]
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    topic = FetchTopic(
        topic="" if by_id else "bravo:orders",
        topic_id=orders if by_id else ZERO_UUID,
        partitions=(wanted,),
    )
    fetch = FetchRequest(max_wait_ms=20_000, min_bytes=1, topics=(topic,))
    version = None if by_id else NAMES_UNTIL
    data = ProducedPartition(index=0, records=batch(b"of alpha"))
    written = ProducedTopic(name="", topic_id=orders, partition_data=(data,))
    write = ProduceRequest(acks=1, timeout_ms=1_000, topic_data=(written,))
    async with _moved(tmp_path) as (_, broker):
        waiting = asyncio.create_task(
            broker.answer(framed(apis.FETCH, fetch, version), BRAVO.caller)
        )
        await asyncio.sleep(0)
        await broker.rename()
        broker.update()
        produced: Any = await broker.answer(framed(apis.PRODUCE, write), ALPHA.caller)
        assert produced.responses[0].partition_responses[0].error_code == 0
        answer: Any = await waiting
    (told,) = answer.responses[0].partitions
    # The name or the leader is unknown, by how far the broker has followed when it answers.
    assert told.error_code != 0
    assert not told.records
