"""What a controller answers while the index of a loaded state is made, in turns of the loop."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import pytest
from immutables import Map
from msgspec.structs import replace

from api.requests.commands import any_command
from controller.authorization.caller import CONTROLLER
from controller.decisions.brokers.heartbeats import Heartbeat, fence_stale_broker
from controller.decisions.context import cluster_index
from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.context.lazy_index import IndexBeingMadeError, LazyIndex
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.decisions.topics.topics import CreateTopics, NewTopic
from controller.descriptions.brokers import ListBrokers
from controller.descriptions.topics import DescribeTopics
from controller.raw_appends.raw_append import AppendRecords
from controller.results.answer import Answer
from controller.results.turns import Turns
from records.brokers import BrokerRegistrationChangeRecord
from records.control import AbortTransactionRecord, NoOpRecord, NoteRecord
from records.errors import CorruptLogError
from records.partitions import PartitionChangeRecord, PartitionRecord
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic
from replay.loader import Replayer
from replay.snapshot.shared_values import SharedValues
from replay.snapshot.stored_topic import LoadedTopic, StoredTopic
from tests.controller.cluster import Cluster
from tests.controller.office import SETTINGS, Office, code_of
from tests.replay.builders import uid

T = TypeVar("T")

_TOPICS = 30


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch) -> MetadataImage:
    """An image whose index takes a turn for each topic."""
    monkeypatch.setattr(cluster_index, "_PARTITIONS_IN_TURN", 1)
    monkeypatch.setattr(cluster_index, "_TOPICS_IN_TURN", 1)
    cluster = Cluster()
    cluster.add_brokers(1, 2, 3)
    for number in range(_TOPICS):
        cluster.create(f"topic.{number}", [1, 2], [2, 3], [3, 1])
    cluster.fence(3)
    return cluster.image


@pytest.fixture
async def office(image: MetadataImage) -> Office:
    """An active controller that has just begun with the index."""
    office = Office(image, image.provenance.next_offset)
    await office.controller.activate()
    assert not _is_made(office)
    return office


def _is_made(office: Office) -> bool:
    return office.controller.state.lazy_index.is_made


def _ask(office: Office, command: str, request: Any) -> "asyncio.Future[Answer[Any]]":
    return office.controller.ask_at_once(any_command(command).bound(request, CONTROLLER))


def _beat(
    office: Office, broker_id: int, *, behind: int = 0, **fields: Any
) -> "asyncio.Future[Answer[Any]]":
    broker = office.controller.image.broker(broker_id)
    assert broker is not None
    request = Heartbeat(
        broker_id=broker_id,
        broker_epoch=broker.broker_epoch,
        metadata_offset=office.log.end_offset - 1 - behind,
        **fields,
    )
    return office.controller.heartbeat(request)


def _check(office: Office, before: MetadataImage) -> None:
    """Check that the last image is that of a replay, and the index that of the image."""
    replayer = Replayer(before)
    for batch, _ in office.committed:
        replayer.replay(batch)
    state = office.controller.state
    assert replayer.image() == state.image
    assert _is_made(office) and state.index == ClusterIndex.of(state.image)


def test_an_index_made_in_turns_is_that_of_the_image(image: MetadataImage) -> None:
    lazy = LazyIndex(image)
    turns = 0
    for _ in lazy.in_turns():
        turns += 1
        with pytest.raises(IndexBeingMadeError):
            lazy.read()
    assert turns > 2 * _TOPICS
    assert lazy.is_made and lazy.read() == ClusterIndex.of(image)


def test_no_turn_reads_all_topics(image: MetadataImage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither to count them, nor to make partitions that are not settled (each costs four)."""
    monkeypatch.setattr(cluster_index, "_PARTITIONS_IN_TURN", 4)
    read = [0]

    def counted(one_by_one: Callable[[MetadataImage], Iterator[T]]) -> Any:
        def count(image: MetadataImage) -> Iterator[T]:
            for each in one_by_one(image):
                read[0] += 1
                yield each

        return count

    for name in ("topics", "placements"):
        monkeypatch.setattr(MetadataImage, name, counted(getattr(MetadataImage, name)))
    turns = []
    for _ in ClusterIndex.in_turns(image):
        turns.append(read[0])
        read[0] = 0
    assert sum(turns) + read[0] == 2 * _TOPICS and max(turns) == 1


def test_an_index_is_made_at_once_if_its_turns_end_early(image: MetadataImage) -> None:
    lazy = LazyIndex(image)
    turns = lazy.in_turns()
    next(turns)
    turns.close()
    assert not lazy.is_made
    assert lazy.read() == ClusterIndex.of(image)


async def test_questions_about_topics_do_not_wait(office: Office) -> None:
    asked = _ask(office, "topics describe", DescribeTopics(topics=("topic.7",)))
    assert asked.done()
    (found,) = asked.result().response.topics
    assert found.description.name == "topic.7" and not _is_made(office)


async def test_a_question_that_is_to_keep_its_order_waits(office: Office) -> None:
    new = CreateTopics(topics=(NewTopic(name="new", partitions=3, replication_factor=2),))
    office.controller.submit(any_command("topics create").bound(new, CONTROLLER))
    describe = any_command("topics describe").bound(DescribeTopics(topics=("new",)), CONTROLLER)
    at_once, in_order = office.controller.ask_at_once(describe), office.controller.ask(describe)
    assert at_once.done() and not in_order.done()
    (before,), (after,) = [(await each).response.topics for each in (at_once, in_order)]
    assert before.description is None and after.description is not None


async def test_a_question_that_reads_the_index_waits_for_it(
    office: Office, image: MetadataImage
) -> None:
    asked = _ask(office, "brokers list", ListBrokers())
    assert not asked.done()
    brokers = (await asked).response
    assert _is_made(office)
    everything = [p for topic in image.topics() for p in image.partitions(topic.topic_id)]
    assert [(each.leads, each.replicas) for each in brokers] == [
        (
            sum(p.leader == broker_id for p in everything),
            sum(broker_id in p.replicas for p in everything),
        )
        for broker_id in (1, 2, 3)
    ]


async def test_changes_wait_and_are_decided_in_order(office: Office, image: MetadataImage) -> None:
    new = CreateTopics(topics=(NewTopic(name="new", partitions=3, replication_factor=2),))
    created = office.controller.submit(any_command("topics create").bound(new, CONTROLLER))
    raw = office.controller.append(AppendRecords(records=(NoOpRecord(),)))
    again = office.controller.submit(any_command("topics create").bound(new, CONTROLLER))
    colliding = CreateTopics(topics=(NewTopic(name="topic_7", partitions=1),))
    refused = office.controller.submit(any_command("topics create").bound(colliding, CONTROLLER))
    async with office.controller.transaction("t") as transaction:
        assert _is_made(office)
        await transaction.submit(partial(create_namespace, request=CreateNamespace("a")))
    answers = [await each for each in (created, raw, again, refused)]
    ends = [answer.end_offset for answer in answers]
    assert ends == sorted(ends)
    codes = [each.response[0].refusal for each in answers if isinstance(each.response, tuple)]
    assert [code and code.code for code in codes] == [
        None,
        "TOPIC_ALREADY_EXISTS",
        "INVALID_TOPIC_EXCEPTION",
    ]
    assert office.names() == ["a"]
    _check(office, image)


async def test_appends_of_a_turn_wait_too(office: Office, image: MetadataImage) -> None:
    appends = [office.controller.append(AppendRecords(records=(NoOpRecord(),))) for _ in range(3)]
    await asyncio.sleep(0)
    assert office.committed == [] and not _is_made(office)
    assert len({(await each).end_offset for each in appends}) == 3
    _check(office, image)


async def test_appends_before_the_first_turn_come_before_the_index(image: MetadataImage) -> None:
    """An append that is decided at the end of a turn of the loop is decided before it."""
    office = Office(image, image.provenance.next_offset)
    activated = asyncio.ensure_future(office.controller.activate())
    await asyncio.sleep(0)
    append = office.controller.append(AppendRecords(records=(NoOpRecord(),)))
    await activated
    await append
    await office.controller.drained()
    _check(office, image)


async def test_a_fenced_broker_that_is_behind_is_answered(office: Office) -> None:
    beat = _beat(office, 3, behind=1_000)
    assert beat.done() and beat.result().response.is_fenced and not _is_made(office)


@pytest.mark.parametrize("broker_id", [1, 3])
async def test_first_heartbeats_wait(office: Office, image: MetadataImage, broker_id: int) -> None:
    """Of active brokers: which partitions lack a leader is in the index; a fenced one returns."""
    beat = _beat(office, broker_id)
    assert not beat.done()
    assert not (await beat).response.is_fenced
    _check(office, image)


async def test_a_heartbeat_that_waits_for_longer_than_a_session_counts(office: Office) -> None:
    checks = [office.controller.submit(fence_stale_broker)]
    beat = _beat(office, 1)
    office.clock.time_ms += SETTINGS.session_timeout_ms + 1_000
    checks.append(office.controller.submit(fence_stale_broker))
    assert not (await beat).response.is_fenced
    assert [(await check).response for check in checks] == [None, None]
    office.clock.time_ms += SETTINGS.session_timeout_ms - 1
    assert (await office.controller.submit(fence_stale_broker)).response is None
    office.clock.time_ms += 2
    assert (await office.controller.submit(fence_stale_broker)).response in (1, 2)


async def test_a_broker_that_shuts_down_waits(office: Office, image: MetadataImage) -> None:
    """Whether it leads a partition is in the index."""
    beat = _beat(office, 1, want_shutdown=True)
    assert not beat.done()
    assert not (await beat).response.should_shut_down
    types = {type(row.payload) for batch, _ in office.committed for row in batch.rows}
    assert BrokerRegistrationChangeRecord in types
    _check(office, image)


async def test_a_controller_that_resigns_refuses_what_waits(
    office: Office, image: MetadataImage
) -> None:
    waiting = office.namespace("a")
    office.controller.resign()
    assert await code_of(waiting) == "NOT_CONTROLLER"
    await office.controller.drained()
    assert office.committed == []
    assert office.controller.state.index == ClusterIndex.of(image)


async def test_draining_waits_for_what_waits(office: Office, image: MetadataImage) -> None:
    waiting = office.namespace("a")
    await office.controller.drained()
    assert waiting.done()
    _check(office, image)


async def test_a_transaction_that_was_left_open_is_aborted_first(image: MetadataImage) -> None:
    begun = image.provenance.next_offset
    provenance = replace(image.provenance, pending_transaction=begun)
    office = Office(replace(image, provenance=provenance), begun + 1)
    await office.controller.activate()
    assert not _is_made(office)
    await office.namespace("a")
    (first, _), *_ = office.committed
    assert [type(row.payload) for row in first.rows] == [AbortTransactionRecord]
    state = office.controller.state
    assert state.index == ClusterIndex.of(state.image)


async def test_partitions_written_after_it_are_indexed(
    office: Office, image: MetadataImage
) -> None:
    new = CreateTopics(topics=(NewTopic(name="new", partitions=3, replication_factor=2),))
    await office.controller.submit(any_command("topics create").bound(new, CONTROLLER))
    types = [type(row.payload) for batch, _ in office.committed for row in batch.rows]
    assert types.count(PartitionRecord) == 3
    _check(office, image)


async def test_an_index_that_is_not_wanted_is_made_for_the_first_that_reads_it(
    image: MetadataImage,
) -> None:
    office = Office(image, image.provenance.next_offset)
    await office.controller.activate(makes_index=False)
    note = NoteRecord(at_offset=0, author="test", text="first")
    await office.controller.append(AppendRecords(records=(note,)))
    shrink = PartitionChangeRecord(topic_id=next(image.topics()).topic_id, partition_id=0, isr=(1,))
    await office.controller.append(AppendRecords(records=(shrink,)))
    assert len(office.committed) == 2 and not _is_made(office)
    new = CreateTopics(topics=(NewTopic(name="new", partitions=3, replication_factor=2),))
    await office.controller.submit(any_command("topics create").bound(new, CONTROLLER))
    _check(office, image)


def _unreadable(image: MetadataImage) -> MetadataImage:
    """Return an image with a topic of a snapshot that this release cannot read."""
    stored = StoredTopic(Topic(uid("foreign"), "foreign"), partition_count=1, body=b"\xc1")
    entries: Map[Any, Any] = image._topics._entries.set(
        uid("foreign"), LoadedTopic(stored, SharedValues())
    )
    return replace(image, _topics=replace(image._topics, _entries=entries))


async def test_nothing_is_decided_on_a_state_that_cannot_be_indexed(image: MetadataImage) -> None:
    office = Office(_unreadable(image), image.provenance.next_offset)
    await office.controller.activate()
    waiting = office.namespace("a")
    for told in (office.controller.indexed(), waiting):
        with pytest.raises(CorruptLogError, match="topic 'foreign' of a snapshot was written by"):
            await told
    with pytest.raises(CorruptLogError, match="topic 'foreign'"):
        await office.controller.append(AppendRecords(records=(NoOpRecord(),)))
    assert office.controller.has_resigned and office.committed == []


async def test_an_index_that_fails_for_another_reason_says_so(
    image: MetadataImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(image: MetadataImage) -> Turns[ClusterIndex]:
        yield
        raise MemoryError("no memory is left")

    monkeypatch.setattr(ClusterIndex, "in_turns", full)
    office = Office(image, image.provenance.next_offset)
    await office.controller.activate()
    for told in (office.controller.indexed(), office.namespace("a")):
        with pytest.raises(MemoryError, match="no memory is left"):
            await told
    assert office.controller.has_resigned and office.committed == []


async def test_an_index_is_dropped_by_a_process_that_stops(
    office: Office, image: MetadataImage
) -> None:
    waiting = office.namespace("a")
    office.controller.drop_index()
    await office.controller.drained()
    assert not _is_made(office) and office.committed == []
    assert await code_of(waiting) == "NOT_CONTROLLER"


async def test_a_process_that_stops_later_carries_out_what_waits(
    office: Office, image: MetadataImage
) -> None:
    await office.controller.indexed()
    waiting = office.namespace("a")
    office.controller.drop_index()
    await office.controller.drained()
    assert waiting.done() and office.names() == ["a"]
    _check(office, image)
