"""The controller's loop: order of answers, and when state becomes visible."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from controller.controller import Controller
from controller.decisions.brokers.heartbeats import Heartbeat, fence_stale_broker
from controller.decisions.context.context import Context
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from controller.results.result import ControllerResult
from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.configs import ConfigRecord, FeatureLevelRecord
from records.control import AbortTransactionRecord, BeginTransactionRecord, NoOpRecord
from records.envelope import Envelope, Origin
from records.errors import RequestError
from replay.loader import Replayer, load_image
from tests.controller.cluster import START_MS, Cluster, assigned
from tests.controller.office import Clock, Office, code_of, nothing


def _notes(count: int, *, atomic: bool) -> Callable[[Context], ControllerResult[None]]:
    records = tuple([NoOpRecord() for _ in range(count)])
    return lambda _: ControllerResult(response=None, records=records, atomic=atomic)


# Activation.


async def test_a_new_log_gets_its_levels_in_the_first_batch() -> None:
    office = Office()
    await office.controller.activate({"metadata.version": 20})
    (batch,) = office.log.batches
    assert isinstance(batch.records[0], BeginTransactionRecord)
    assert batch.records[1] == FeatureLevelRecord(name="metadata.version", feature_level=20)
    assert office.controller.image.features() == {"metadata.version": 20}


async def test_a_log_with_a_history_gets_nothing_new(office: Office) -> None:
    again = Office(office.controller.image, office.log.end_offset)
    await again.controller.activate()
    assert again.log.batches == []


async def test_a_log_that_holds_control_records_only_counts_as_new() -> None:
    replayer = Replayer()
    replayer.replay(_batch(0, NoOpRecord()))
    office = Office(replayer.image(), 1)
    await office.controller.activate()
    assert office.log.batches[0].records


async def test_a_transaction_left_open_is_aborted_first() -> None:
    replayer = Replayer()
    level = FeatureLevelRecord(name="metadata.version", feature_level=20)
    replayer.replay(_batch(0, level, BeginTransactionRecord(name=None), _config("lost")))
    office = Office(replayer.image(), 3)
    await office.controller.activate()
    assert [batch.records for batch in office.log.batches] == [
        (AbortTransactionRecord(reason="Controller failover"),)
    ]
    await office.controller.submit(lambda _: ControllerResult(response=0, records=(_config("a"),)))
    assert office.controller.image.config(4, "") == {"a": "1"}
    assert office.controller.image.provenance.next_offset == office.log.end_offset == 5


async def test_an_empty_log_with_an_aborted_bootstrap_gets_its_levels_again() -> None:
    replayer = Replayer()
    level = FeatureLevelRecord(name="metadata.version", feature_level=20)
    replayer.replay(_batch(0, BeginTransactionRecord(name="Bootstrap records"), level))
    office = Office(replayer.image(), 2)
    await office.controller.activate()
    abort, bootstrap = office.log.batches
    assert isinstance(abort.records[0], AbortTransactionRecord)
    assert len(bootstrap.records) > 1


async def test_nothing_is_decided_before_activation() -> None:
    office = Office()
    assert not office.controller.is_active
    assert await code_of(office.namespace("a")) == "NOT_CONTROLLER"
    assert office.log.batches == []


# Deciding and committing.


async def test_an_answer_waits_until_its_records_are_committed(office: Office) -> None:
    office.log.hold()
    future = office.namespace("a")
    await asyncio.sleep(0.01)
    assert not future.done()
    office.log.release()
    answer = await future
    assert answer.response.namespaces == ("a",)
    assert answer.end_offset == office.log.end_offset


async def test_decisions_see_what_is_not_committed_and_readers_do_not(office: Office) -> None:
    office.log.hold()
    first, second, again = map(office.namespace, ("a", "a:b", "a"))
    await asyncio.sleep(0)
    assert office.names() == []
    # The refusal would tell of a namespace that a crash can undo.
    assert not again.done()
    office.log.release()
    assert await code_of(again) == "DUPLICATE_RESOURCE"
    await asyncio.gather(first, second)
    assert office.names() == ["a", "a:b"]
    assert [len(batch.records) for batch in office.log.batches[1:]] == [1, 1]


async def test_events_are_decided_in_the_order_of_the_calls(office: Office) -> None:
    futures = [office.namespace(f"n{n}") for n in range(50)]
    answers = await asyncio.gather(*futures)
    ends = [answer.end_offset for answer in answers]
    assert ends == sorted(ends)
    assert len(office.names()) == 50


async def test_refusal_is_answered_at_once_if_all_is_committed_and_writes_nothing(
    office: Office,
) -> None:
    office.log.hold()
    assert await code_of(office.namespace("no good")) == "INVALID_TOPIC_EXCEPTION"
    office.log.release()
    await office.controller.drained()
    assert len(office.log.batches) == 1


async def test_an_event_without_records_waits_for_what_it_may_have_seen(office: Office) -> None:
    office.log.hold()
    office.namespace("a")
    future = office.controller.submit(nothing)
    await asyncio.sleep(0.01)
    assert not future.done()
    office.log.release()
    assert (await future).response == "looked"
    assert office.names() == ["a"]


async def test_an_event_without_records_is_answered_at_once_when_nothing_is_on_its_way(
    office: Office,
) -> None:
    office.log.hold()
    assert office.controller.submit(nothing).done()


async def test_the_origin_stands_on_the_batch(office: Office) -> None:
    origin = Origin(principal="User:alice", reason="because")
    await office.namespace("a", origin=origin)
    assert office.log.batches[-1].origin == origin


async def test_times_never_go_back(office: Office) -> None:
    office.clock.time_ms += 5
    await office.namespace("a")
    office.clock.time_ms -= 1_000
    await office.namespace("b")
    times = [batch.timestamp for batch in office.log.batches]
    assert times == [START_MS, START_MS + 5, START_MS + 5]


async def test_layouts_are_those_of_the_clusters_level() -> None:
    office = Office()
    await office.controller.activate({"metadata.version": 16})
    await office.register(1)
    assert office.log.batches[-1].record_versions == (2,)


async def test_a_long_result_is_cut_into_batches_and_answered_after_the_last(
    office: Office,
) -> None:
    answer = await office.controller.submit(_notes(25_000, atomic=False))
    assert [len(batch.records) for batch in office.log.batches[1:]] == [10_000, 10_000, 5_000]
    assert answer.end_offset == office.log.end_offset


async def test_a_long_result_that_must_be_atomic_is_our_own_mistake(office: Office) -> None:
    with pytest.raises(AssertionError, match="cannot be written as one"):
        await office.controller.submit(_notes(10_001, atomic=True))


async def test_a_decision_that_contradicts_its_image_is_our_own_mistake(office: Office) -> None:
    twice = create_namespace(Cluster().context(), CreateNamespace("a"))
    await office.controller.submit(lambda _: twice)
    with pytest.raises(AssertionError, match="contradicts"):
        await office.controller.submit(lambda _: twice)


async def test_controller_that_contradicts_its_image_is_no_longer_active(office: Office) -> None:
    twice = create_namespace(Cluster().context(), CreateNamespace("a"))
    await office.controller.submit(lambda _: twice)
    waiting = []

    async def contradict() -> None:
        async with office.controller.transaction("t") as transaction:
            waiting.append(office.namespace("b"))
            with pytest.raises(AssertionError, match="contradicts"):
                await transaction.submit(lambda _: twice)

    with pytest.raises(RequestError, match="t is over"):
        await contradict()
    assert [await asyncio.wait_for(code_of(future), 60) for future in waiting] == ["NOT_CONTROLLER"]
    assert office.controller.has_resigned
    assert office.names() == ["a"]
    assert [type(batch.records[0]) for batch in office.log.batches[2:]] == [BeginTransactionRecord]


def _mistake(_: Context) -> ControllerResult[None]:
    raise ValueError("a mistake")


async def test_a_mistake_of_a_decision_concerns_its_callers_only(office: Office) -> None:
    origin = Origin(request_id="r1", request_hash=b"hash")
    async with office.controller.transaction("t"):
        first = office.controller.submit(_mistake, origin=origin)
        again = office.controller.submit(_mistake, origin=origin)
        next_ = office.namespace("a")
    for future in (first, again):
        with pytest.raises(ValueError, match="a mistake"):
            await asyncio.wait_for(future, 60)
    await asyncio.wait_for(next_, 60)
    assert (await office.controller.submit(nothing, origin=origin)).response == "looked"


async def test_a_brokers_epoch_is_the_offset_of_its_registration(office: Office) -> None:
    office.log.hold()
    office.namespace("a")
    registration = asyncio.ensure_future(office.register(1))
    await asyncio.sleep(0)
    office.log.release()
    epoch = await registration
    offset = 0
    for batch in office.log.batches:
        if epoch == offset:
            assert type(batch.records[0]).__name__ == "RegisterBrokerRecord"
        offset += len(batch.records)
    assert office.controller.image.broker(1) is not None


async def test_heartbeats_keep_a_broker_from_being_fenced(office: Office) -> None:
    epoch = await office.register(1)
    beat = Heartbeat(broker_id=1, broker_epoch=epoch, metadata_offset=office.log.end_offset)
    await office.controller.heartbeat(beat)
    for _ in range(3):
        office.clock.time_ms += 9_000
        await office.controller.heartbeat(beat)
        assert (await office.controller.submit(fence_stale_broker)).response is None
    office.clock.time_ms += 9_001
    assert (await office.controller.submit(fence_stale_broker)).response == 1


async def test_a_broker_whose_heartbeat_waits_for_a_transaction_is_not_fenced(
    office: Office,
) -> None:
    epoch = await office.register(1)
    beat = Heartbeat(broker_id=1, broker_epoch=epoch, metadata_offset=office.log.end_offset)
    await office.controller.heartbeat(beat)
    async with office.controller.transaction("import"):
        office.clock.time_ms += 5_000
        fenced = office.controller.submit(fence_stale_broker)  # due because of another broker
        heard = office.controller.heartbeat(beat)
        office.clock.time_ms += 5_000
    assert (await fenced).response is None
    assert not (await heard).response.is_fenced
    office.clock.time_ms += 9_001
    assert (await office.controller.submit(fence_stale_broker)).response == 1


async def test_a_controlled_shutdown_waits_for_its_own_records(office: Office) -> None:
    for broker_id in (1, 2):
        epoch = await office.register(broker_id)
        await office.controller.heartbeat(
            Heartbeat(broker_id=broker_id, broker_epoch=epoch, metadata_offset=1_000)
        )
    topic = NewTopic(name="orders", assignments=assigned([1, 2]))
    await office.controller.submit(partial(create_topics, request=CreateTopics(topics=(topic,))))

    async def beat(broker_id: int, offset: int, *, stop: bool = False) -> bool:
        broker = office.controller.image.broker(broker_id)
        assert broker is not None
        request = Heartbeat(
            broker_id=broker_id,
            broker_epoch=broker.broker_epoch,
            metadata_offset=offset,
            want_shutdown=stop,
        )
        return (await office.controller.heartbeat(request)).response.should_shut_down

    await beat(2, 0)
    assert not await beat(1, 0, stop=True)
    last = office.log.end_offset - 1
    await beat(2, last - 1)
    assert not await beat(1, 0, stop=True)
    await beat(2, last)
    assert await beat(1, 0, stop=True)


# On a real log.


async def test_a_log_on_disk_replays_to_the_committed_image(tmp_path: Path) -> None:
    path = tmp_path / "log"
    create_log(path, "test")
    for round_ in range(2):
        clock = Clock()
        log = await MetadataLog.open(path, clock=clock)
        with LogReader.open(path) as reader:
            image = load_image(reader)
        controller = Controller(log, image, clock=clock, rng=Random(round_))
        await controller.activate()
        futures = [
            controller.submit(partial(create_namespace, request=CreateNamespace(f"r{round_}:n{n}")))
            for n in range(20)
        ]
        await asyncio.gather(*futures)
        await log.close()
        with LogReader.open(path) as reader:
            assert load_image(reader) == controller.image
    assert len(list(controller.image.namespaces())) == 2 * 21


def _batch(base_offset: int, *records: Record) -> Batch:
    rows = [
        Envelope(
            offset=offset,
            leader_epoch=1,
            timestamp=START_MS,
            batch_offset=base_offset,
            record_version=0,
            payload=record,
        )
        for offset, record in enumerate(records, base_offset)
    ]
    return Batch.of(rows)


def _config(name: str) -> ConfigRecord:
    return ConfigRecord(resource_type=4, resource_name="", name=name, value="1")
