"""A request that is asked again, because its first answer got lost, is carried out once."""

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from api.admin.local import LocalAdmin
from api.client import MetadataClient
from api.first_answers import committed_request, told_again
from api.kafka import apis, frames
from api.kafka.messages.topics import RunCommandRequest
from api.packed import packed
from controller.decisions.context import Context, Settings
from controller.decisions.growth import CreatePartitions, TopicGrowth
from controller.decisions.ids import new_id
from controller.decisions.namespaces import CreateNamespace
from controller.decisions.topics import CreateTopics, DeleteTopics, NewTopic
from controller.result import ControllerResult
from metadata_log.batch import NewBatch
from metadata_log.creation import create_log
from metadata_log.limits import BATCH_RECORDS_MAX
from metadata_log.log import MetadataLog
from metadata_log.log_reader import LogReader
from records.base import Record
from records.control import NoOpRecord
from records.envelope import Origin
from records.errors import RequestError
from tests.api.kafka.servers import Server, server

_ADOPTED = new_id(Random(9))
_TOPICS = CreateTopics(
    topics=(
        NewTopic(name="a", partitions=2),
        NewTopic(name="no/name"),
        NewTopic(name="adopted", topic_id=_ADOPTED, partitions=1),
        NewTopic(name="b", partitions=1),
    )
)


async def _ask_and_hang_up(at: Server, command: str, request: Any, request_id: str) -> None:
    """Send a request, and let the connection die before the answer can be read."""
    before = at.service.image.provenance.next_offset
    _, writer = await asyncio.open_connection("127.0.0.1", at.port)
    body = RunCommandRequest(command=command, payload=packed(request), request_id=request_id)
    writer.write(frames.encode_request(apis.RUN_COMMAND, 0, 1, body))
    await writer.drain()
    writer.transport.abort()
    async with asyncio.timeout(10):
        await at.service.history.beyond(before)


def _ids(image: Any) -> dict[str, bytes]:
    return {topic.name: topic.topic_id for topic in image.topics()}


async def test_answer_lost_with_its_connection_is_given_to_who_asks_again(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await _ask_and_hang_up(at, "topics create", _TOPICS, "r1")
        end = at.service.image.provenance.next_offset
        answers = [await at.client.run("topics create", _TOPICS, request_id="r1") for _ in "12"]
        assert at.service.image.provenance.next_offset == end
        ids = _ids(at.service.image)
    assert answers[0] == answers[1]
    assert answers[0].end_offset == end
    results = answers[0].response
    assert [r.topic_id for r in results] == [ids["a"], None, _ADOPTED, ids["b"]]
    assert [r.partitions for r in results] == [2, 0, 1, 1]
    codes = [r.refusal and r.refusal.code for r in results]
    assert codes == [None, "INVALID_TOPIC_EXCEPTION", None, None]


async def test_first_answer_outlives_the_service_and_later_changes(tmp_path: Path) -> None:
    growth = CreatePartitions(topics=(TopicGrowth(topic="a", partitions=3),))
    requests: list[tuple[str, Any]] = [
        ("topics create", _TOPICS),
        ("namespaces create", CreateNamespace("org:apache")),
        ("partitions create", growth),
        ("topics delete", DeleteTopics(topics=("a", "nobody"))),
    ]
    async with server(tmp_path) as at:
        await at.register(1)
        first = [await at.client.run(c, r, request_id=c) for c, r in requests]
    async with server(tmp_path) as at:
        end = at.service.image.provenance.next_offset
        again = [await at.client.run(c, r, request_id=c) for c, r in requests]
        assert at.service.image.provenance.next_offset == end
    assert again == first


async def test_requests_asked_again_side_by_side_are_one(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        url = f"kafka://127.0.0.1:{at.port}"
        async with await MetadataClient.connect(url) as other:
            asked = [
                client.run("topics create", _TOPICS, request_id="r1")
                for client in (at.client, other) * 10
            ]
            answers = await asyncio.gather(*asked)
    assert all(answer == answers[0] for answer in answers)


async def test_the_same_id_with_another_request_is_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        await at.client.run("topics create", _TOPICS, request_id="r1")
        for command, request in (
            ("topics create", CreateTopics(topics=(NewTopic(name="c"),))),
            ("topics delete", DeleteTopics(topics=("a",))),
        ):
            with pytest.raises(RequestError, match="'r1' was used for another request") as caught:
                await at.client.run(command, request, request_id="r1")
            assert caught.value.code == "INVALID_REQUEST"
        for bad_id in ("", "x" * 201):
            with pytest.raises(RequestError, match="1 to 200 characters"):
                await at.client.run("topics create", _TOPICS, request_id=bad_id)
        assert sorted(_ids(at.service.image)) == ["a", "adopted", "b"]


async def test_a_refused_request_is_decided_again(tmp_path: Path) -> None:
    request = CreateTopics(topics=(NewTopic(name="a", namespace="org"),))
    async with server(tmp_path) as at:
        await at.register(1)
        (refused,) = (await at.client.run("topics create", request, request_id="r1")).response
        await at.client.run("namespaces create", CreateNamespace("org"))
        (result,) = (await at.client.run("topics create", request, request_id="r1")).response
    assert refused.refusal is not None
    assert result.refusal is None


async def test_a_service_with_other_settings_says_that_it_was_done(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        request = CreateTopics(topics=(NewTopic(name="a"),))
        answer = await at.client.run("topics create", request, request_id="r1")
    async with server(tmp_path, settings=Settings(default_partitions=5)) as at:
        with pytest.raises(RequestError, match="was carried out") as caught:
            await at.client.run("topics create", request, request_id="r1")
    assert caught.value.code == "DUPLICATE_REQUEST"
    assert f"begin at offset {answer.end_offset - 2}" in str(caught.value)


async def test_the_answer_never_tells_of_other_replicas_than_were_written(tmp_path: Path) -> None:
    request = CreateTopics(topics=(NewTopic(name="a"),))
    async with server(tmp_path) as at:
        await at.register(1)
        await at.register(2)
        await at.client.run("topics create", request, request_id="r1")
    async with server(tmp_path, settings=Settings(default_replication_factor=2)) as at:
        with pytest.raises(RequestError, match="was carried out"):
            await at.client.run("topics create", request, request_id="r1")


async def test_in_this_process_it_is_the_same(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "test")

    def admin() -> LocalAdmin:
        return LocalAdmin(tmp_path / "log", principal="User:ann")

    request = CreateNamespace("org:apache")
    first = await admin().run("namespaces create", request, request_id="r1")
    again = await admin().run("namespaces create", request, request_id="r1")
    assert again == first
    with pytest.raises(RequestError, match="exists"):
        await admin().run("namespaces create", request)


async def _written(path: Path, *batches: tuple[Origin, list[Record]]) -> None:
    create_log(path, "test")
    log = await MetadataLog.open(path)
    for origin, records in batches:
        await log.append(NewBatch(records=tuple(records), origin=origin))
    await log.close()


async def test_all_batches_of_a_long_request_are_one_answer(tmp_path: Path) -> None:
    origin = Origin(principal="User:ann", command="elect", request_id="r1", request_hash=b"h")
    earlier = Origin(principal="User:ann", command="elect")
    other = Origin(principal="User:bob", command="elect")
    full: list[Record] = [NoOpRecord()] * BATCH_RECORDS_MAX
    short: list[Record] = [NoOpRecord()] * 5
    path = tmp_path / "log"
    await _written(path, (other, full), (earlier, full), (earlier, full), (origin, short))

    def decide(context: Context) -> ControllerResult[int]:
        records = (*full, *full, *short)
        return ControllerResult(response=context.next_offset, records=records, atomic=False)

    with LogReader.open(path) as reader:
        committed = committed_request(reader, origin)
        assert committed is not None
        answer = told_again(reader, committed, decide, Settings())
        assert answer.end_offset == reader.end_offset
    assert answer.response == committed.base_offset - 2 * BATCH_RECORDS_MAX
