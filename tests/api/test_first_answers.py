"""A request that is repeated because its first answer got lost is executed once."""

import asyncio
import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from api.admin.local import LocalAdmin
from api.clients.client import MetadataClient
from api.kafka import apis, frames
from api.kafka.messages.topics import RunCommandRequest
from api.requests.transactions import Step, Transact
from api.service.service import Service
from controller.asked.asked import BoundDecision
from controller.asked.kept_answers import decode_answer
from controller.asked.repeated_requests import identified
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.decisions.configs.effective import BROKER
from controller.decisions.context.context import Context, Settings
from controller.decisions.ids import new_id
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.results.result import ControllerResult
from controller.wire import to_wire
from metadata_log.format.batch import NewBatch
from metadata_log.limits import BATCH_RECORDS_MAX
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.configs import ConfigRecord
from records.control import NoOpRecord
from records.envelope import Asked, Envelope, Origin
from records.errors import Outcome, RequestError
from records.topics import NamespaceRecord
from replay.care.retain import retain
from tests.api.conftest import Metalog
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
    """Send a request, and close the connection before the answer can be read."""
    before = at.service.image.provenance.next_offset
    _, writer = await asyncio.open_connection("127.0.0.1", at.port)
    body = RunCommandRequest(command=command, payload=to_wire(request), request_id=request_id)
    writer.write(frames.encode_request(apis.RUN_COMMAND, 0, 1, body))
    await writer.drain()
    writer.transport.abort()
    async with asyncio.timeout(60):
        await at.service.history.beyond(before)


def _ids(image: Any) -> dict[str, bytes]:
    return {topic.name: topic.topic_id for topic in image.topics()}


async def test_answer_lost_with_its_connection_is_given_to_the_retry(tmp_path: Path) -> None:
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


async def test_first_answer_of_a_release_that_kept_no_versions_has_none(tmp_path: Path) -> None:
    request = CreateNamespace("org")
    async with server(tmp_path) as at:
        first = await at.client.run("namespaces create", request, request_id="r1")
        assert [each.object for each in first.versions or ()] == ["namespace:org"]
    with LogReader.open(tmp_path / "log") as reader:
        (row,) = [row for row in _rows(reader) if row.origin and row.origin.request_id]
    assert row.asked is not None and row.asked.response is not None and row.origin is not None
    plain, versions = decode_answer(row.asked.response)
    assert versions == first.versions
    older = replace(row.asked, response=plain)
    await _written(tmp_path / "old", (row.origin, [row.payload]), asked=older)
    admin = LocalAdmin(tmp_path / "old", principal="User:ANONYMOUS")
    again = await admin.run("namespaces create", request, request_id="r1")
    assert (again.response, again.versions) == (first.response, None)


async def test_versions_are_left_out_before_the_response(tmp_path: Path) -> None:
    topics = [
        NewTopic(name=f"a-topic-of-a-very-long-name-that-goes-on-{n}", partitions=1)
        for n in range(490)
    ]
    request = CreateTopics(topics=tuple(topics))
    async with server(tmp_path) as at:
        await at.register(1)
        first = await at.client.run("topics create", request, request_id="r1")
        assert len(first.versions or ()) == 2 * len(topics)
        again = await at.client.run("topics create", request, request_id="r1")
    assert again == replace(first, versions=None)


async def test_concurrent_repeats_of_a_request_are_one(tmp_path: Path) -> None:
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


async def test_a_service_with_other_settings_gives_the_first_answer(tmp_path: Path) -> None:
    request = CreateTopics(topics=(NewTopic(name="a"),))
    async with server(tmp_path) as at:
        await at.register(1)
        await at.register(2)
        answer = await at.client.run("topics create", request, request_id="r1")
    others = Settings(static_configs={"num.partitions": "5", "default.replication.factor": "2"})
    async with server(tmp_path, settings=others) as at:
        assert await at.client.run("topics create", request, request_id="r1") == answer
        (topic,) = at.service.image.topics()
        assert [p.replicas for p in at.service.image.partitions(topic.topic_id)] in ([(1,)], [(2,)])


async def _write_without_answers(log: Path, request: CreateNamespace) -> None:
    """Write a request like earlier releases, which stored no answers."""
    origin = Origin(principal="User:ann", command="namespaces create", client="metalog")
    origin = identified(origin, "r1", "namespaces create", to_wire(request))
    record = NamespaceRecord(namespace_id=new_id(Random(1)), name=request.name)
    await _written(log, (origin, [record]))


async def test_a_log_that_holds_no_answers_says_where_the_request_was_carried_out(
    tmp_path: Path,
) -> None:
    request = CreateNamespace("org")
    await _write_without_answers(tmp_path / "log", request)
    admin = LocalAdmin(tmp_path / "log", principal="User:ann")
    with pytest.raises(RequestError, match=r"before, at offsets 1 to 1; .* no answer") as caught:
        await admin.run("namespaces create", request, request_id="r1")
    assert (caught.value.code, caught.value.outcome) == ("DUPLICATE_REQUEST", Outcome.DONE)


def test_command_line_says_that_the_request_was_done(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "log"
    asyncio.run(_write_without_answers(log, CreateNamespace("org")))
    again = ["namespaces", "create", "org", "--as", "User:ann", "--request-id", "r1", "--log", log]
    error = json.loads(metalog(*again, "--json").err)
    assert {name: error[name] for name in ("code", "outcome", "done_to")} == {
        "code": "DUPLICATE_REQUEST",
        "outcome": "done",
        "done_to": 1,
    }
    answer = metalog(*again)
    assert answer.code == 3
    assert answer.err.startswith("error: DUPLICATE_REQUEST: the request was carried out before")
    assert "ask again" not in answer.err


async def test_answer_that_was_too_large_says_where_the_request_was_carried_out(
    tmp_path: Path,
) -> None:
    names = [f"a-topic-of-a-rather-long-name-{number}" for number in range(1_500)]
    request = CreateTopics(topics=tuple([NewTopic(name=name) for name in names]))
    async with server(tmp_path) as at:
        await at.register(1)
        answer = await at.client.run("topics create", request, request_id="r1")
        base_offset = answer.end_offset - 2 * len(names)
        offsets = f"offsets {base_offset} to {answer.end_offset - 1}"
        with pytest.raises(RequestError, match=rf"before, at {offsets}; .* too large") as caught:
            await at.client.run("topics create", request, request_id="r1")
        assert len(list(at.service.image.topics())) == len(names)
    assert (caught.value.code, caught.value.outcome) == ("DUPLICATE_REQUEST", Outcome.DONE)
    assert caught.value.done_to == answer.end_offset - 1


async def test_request_below_the_start_of_history_is_done(tmp_path: Path) -> None:
    request = CreateNamespace("org")
    async with server(tmp_path) as at:
        first = await at.client.run("namespaces create", request, request_id="r1")
    async with server(tmp_path) as at:
        await at.service.know_requests()
        retain(tmp_path / "log", first.end_offset, check_dropped=lambda _: None)
        with pytest.raises(RequestError, match=r"before, .* history starts at") as caught:
            await at.client.run("namespaces create", request, request_id="r1")
    assert (caught.value.code, caught.value.outcome) == ("DUPLICATE_REQUEST", Outcome.DONE)
    assert caught.value.done_to == first.end_offset - 1


async def test_request_whose_batch_is_damaged_is_done(tmp_path: Path) -> None:
    request = CreateNamespace("org")
    async with server(tmp_path) as at:
        first = await at.client.run("namespaces create", request, request_id="r1")
        (segment,) = (tmp_path / "log").glob("0*.avro")
        content = bytearray(segment.read_bytes())
        content[-100] ^= 1
        segment.write_bytes(content)
        with pytest.raises(RequestError, match=segment.name) as caught:
            await at.client.run("namespaces create", request, request_id="r1")
        content[-100] ^= 1
        segment.write_bytes(content)
    assert (caught.value.outcome, caught.value.done_to) == (Outcome.DONE, first.end_offset - 1)


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


async def _written(
    path: Path, *batches: tuple[Origin, list[Record]], asked: Asked | None = None
) -> None:
    create_log(path, "test")
    log = await MetadataLog.open(path)
    for origin, records in batches:
        await log.append(NewBatch(records=tuple(records), origin=origin, asked=asked))
    await log.close()


class _Done(msgspec.Struct, frozen=True):
    at: int


def _note_much(context: Context, count: int) -> ControllerResult[_Done]:
    """Decide more records than fit in one batch."""
    records = (NoOpRecord(),) * count
    return ControllerResult(response=_Done(context.next_offset), records=records, atomic=False)


async def test_all_batches_of_a_long_request_are_one_answer(tmp_path: Path) -> None:
    origin = Origin(principal="User:ann", command="elect", request_id="r1", request_hash=b"h")
    long = BoundDecision("note much", _note_much, 2 * BATCH_RECORDS_MAX + 5)
    full = BoundDecision("note much", _note_much, BATCH_RECORDS_MAX)
    create_log(tmp_path / "log", "test")
    service = await Service.open(tmp_path / "log", with_timers=False)
    try:
        await service.submit(full, origin=replace(origin, request_id=None, request_hash=None))
        first = await service.submit(long, origin=origin)
        again = await service.submit(long, origin=origin)
    finally:
        await service.close()
    assert again == first
    assert again.end_offset == first.response.at + 2 * BATCH_RECORDS_MAX + 5


def _password(value: str, name: str = "ssl.key.password") -> AlterConfigs:
    change = ConfigChange(name, value)
    broker = ResourceChange(resource_type=BROKER, resource_name="1", changes=(change,))
    return AlterConfigs(resources=(broker,))


def _in_transaction(request: AlterConfigs) -> tuple[str, Transact]:
    return "transaction", Transact(steps=(Step.of("configs alter", request),))


def _hash(command: str, request: Any) -> bytes | None:
    return identified(Origin(), "r1", command, to_wire(request)).request_hash


@pytest.mark.parametrize("step", [False, True])
async def test_hash_of_a_request_leaves_its_secrets_out(tmp_path: Path, step: bool) -> None:
    asked = [
        _in_transaction(request) if step else ("configs alter", request)
        for request in (_password("hunter2"), _password("hunter3"), _password("x", "other.key"))
    ]
    first, same_but_secret, other = (_hash(*one) for one in asked)
    assert first == same_but_secret != other
    async with server(tmp_path) as at:
        await at.register(1)
        await at.client.run(*asked[0], request_id="r1")
    with LogReader.open(tmp_path / "log") as reader:
        hashes = [row.origin.request_hash for row in _rows(reader) if row.origin is not None]
    assert first in hashes
    whole = hashlib.sha256(asked[0][0].encode() + b"\0" + to_wire(asked[0][1])).digest()
    assert whole not in hashes


@pytest.mark.parametrize("step", [False, True])
async def test_same_id_with_another_secret_is_another_request(tmp_path: Path, step: bool) -> None:
    first, other = (
        _in_transaction(request) if step else ("configs alter", request)
        for request in (_password("hunter2"), _password("hunter3"))
    )
    async with server(tmp_path) as at:
        await at.register(1)
        answer = await at.client.run(*first, request_id="r1")
        assert await at.client.run(*first, request_id="r1") == answer
        end = at.service.image.provenance.next_offset
        with pytest.raises(RequestError, match="with another secret") as caught:
            await at.client.run(*other, request_id="r1")
        assert (caught.value.code, caught.value.outcome) == ("INVALID_REQUEST", Outcome.NOTHING)
        assert "hunter" not in str(caught.value)
        assert at.service.image.provenance.next_offset == end


async def test_request_of_a_release_that_hashed_secrets_is_not_carried_out_again(
    tmp_path: Path,
) -> None:
    request = _password("hunter2")
    whole = hashlib.sha256(b"configs alter\0" + to_wire(request)).digest()
    origin = Origin(
        principal="User:ann", command="configs alter", request_id="r1", request_hash=whole
    )
    record = ConfigRecord(
        resource_type=BROKER, resource_name="1", name="ssl.key.password", value="hunter2"
    )
    await _written(tmp_path / "log", (origin, [record]))
    admin = LocalAdmin(tmp_path / "log", principal="User:ann")
    with pytest.raises(RequestError) as caught:
        await admin.run("configs alter", request, request_id="r1")
    assert caught.value.code == "DUPLICATE_REQUEST"
    with pytest.raises(RequestError, match="another request"):
        await admin.run("configs alter", _password("hunter3"), request_id="r1")


def _rows(reader: LogReader) -> list[Envelope]:
    return [row for batch in reader.batches() for row in batch.rows]
