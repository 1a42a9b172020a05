"""A broker with many partitions leaves them in steps: others are decided in between, and every
state on the way is valid.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from controller import controller as controllers
from controller.asked.asked import BoundDecision
from controller.decisions.brokers.fencing import SetFencing, set_fencing
from controller.decisions.brokers.heartbeats import Heartbeat, HeartbeatReply, fence_stale_broker
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.brokers.registrations import unregister_broker
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from controller.invariants.checks import Violation
from controller.results.answer import Answer
from records.envelope import Origin
from records.errors import MetadataLogError, Outcome, UnavailableError
from replay.image.metadata import MetadataImage
from replay.image.partitions import NO_LEADER, Partition
from tests.controller.cluster import assigned
from tests.controller.office import Office, code_of
from tests.controller.plain_invariants import check_image

_STEP = 3
_PARTITIONS = 10
_SESSION_MS = 9_000


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controllers, "STEP_RECORDS", _STEP)


async def _filled(office: Office) -> dict[int, int]:
    """Register brokers 1 to 3, and create a topic that broker 1 leads; return the epochs."""
    epochs = {broker_id: await office.register(broker_id) for broker_id in (1, 2, 3)}
    for broker_id in epochs:
        await _beat(office, broker_id, epochs)
    await _create(office, "orders", *[[1, 2, 3]] * (_PARTITIONS - 1))
    await _create(office, "single", [1])
    return epochs


async def _create(office: Office, name: str, *replicas: list[int]) -> None:
    topic = NewTopic(name=name, assignments=assigned(*replicas))
    decide = partial(create_topics, request=CreateTopics(topics=(topic,)))
    (result,) = (await office.controller.submit(decide)).response
    assert result.refusal is None, result.refusal


def _beat(
    office: Office, broker_id: int, epochs: dict[int, int], **fields: Any
) -> asyncio.Future[Answer[HeartbeatReply]]:
    return office.controller.heartbeat(
        Heartbeat(
            broker_id=broker_id,
            broker_epoch=epochs[broker_id],
            metadata_offset=office.log.end_offset - 1,
            **fields,
        )
    )


def _partitions(image: MetadataImage) -> list[Partition]:
    topics = sorted(image.topics(), key=lambda topic: topic.name)
    return [partition for topic in topics for partition in image.partitions(topic.topic_id)]


def _in_isr(office: Office) -> int:
    """Return the number of partitions that have other members in the ISR beside broker 1."""
    return sum(1 in p.isr and len(p.isr) > 1 for p in _partitions(office.controller.image))


def _leaderless(office: Office) -> int:
    return sum(p.leader == NO_LEADER for p in _partitions(office.controller.image))


def _sizes(office: Office, start: int) -> list[int]:
    return [len(batch.records) for batch in office.log.batches[start:]]


_WAYS_OUT: dict[str, Callable[[Office, dict[int, int]], asyncio.Future[Answer[Any]]]] = {
    "by command": lambda office, _: office.controller.submit(
        BoundDecision("fence", set_fencing, SetFencing(broker_id=1, fenced=True))
    ),
    "by its heartbeat": lambda office, epochs: _beat(office, 1, epochs, want_fence=True),
    "in a controlled shutdown": lambda office, epochs: _beat(office, 1, epochs, want_shutdown=True),
    "unregistered": lambda office, _: office.controller.submit(
        partial(unregister_broker, broker_id=1)
    ),
}


@pytest.mark.parametrize("way", _WAYS_OUT)
async def test_others_are_decided_between_the_steps(office: Office, way: str) -> None:
    epochs = await _filled(office)
    start = len(office.log.batches)
    leaving = _WAYS_OUT[way](office, epochs)
    seen, problems = [], list[Violation]()
    while not leaving.done():
        await _beat(office, 2, epochs)
        seen.append(_in_isr(office))
        problems += check_image(office.controller.image)
    assert len(set(seen)) >= 3 and seen[-1] == 0
    assert not problems
    assert _sizes(office, start) == [3, 3, 3, 2]
    assert (await leaving).end_offset == office.log.end_offset
    assert all(p.leader != 1 for p in _partitions(office.controller.image))


async def test_a_broker_that_is_heard_again_is_fenced_and_comes_back(office: Office) -> None:
    epochs = await _filled(office)
    office.clock.time_ms += _SESSION_MS + 1
    for broker_id in (2, 3):
        await _beat(office, broker_id, epochs)
    fencing = office.controller.submit(fence_stale_broker)
    while _in_isr(office) > 6:
        await asyncio.sleep(0)
    assert not (await _beat(office, 1, epochs)).response.is_fenced
    assert (await fencing).response == 1
    assert _in_isr(office) == 0
    assert not (await _beat(office, 1, epochs)).response.is_fenced
    assert [p.leader for p in _partitions(office.controller.image)][-1] == 1


async def test_after_a_crash_a_living_broker_gets_back_what_only_it_can_lead(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controllers, "STEP_RECORDS", 2 * _PARTITIONS - 1)
    epochs = await _filled(office)
    await _create(office, "more", *[[1]] * _PARTITIONS)
    fencing = _WAYS_OUT["by command"](office, epochs)
    while _leaderless(office) < _PARTITIONS:
        await asyncio.sleep(0)
    assert not fencing.done()
    fencing.cancel()
    after = Office(office.controller.image, office.log.end_offset)
    await after.controller.activate()
    await _beat(after, 1, epochs)
    assert _leaderless(after) == 0


async def test_partitions_that_it_gets_meanwhile_are_left_before_it_is_fenced(
    office: Office,
) -> None:
    epochs = await _filled(office)
    fencing = _WAYS_OUT["by command"](office, epochs)
    while _in_isr(office) > 6:
        await asyncio.sleep(0)
    first = min(_partitions(office.controller.image), key=lambda partition: 1 in partition.isr)
    returned = PartitionAlteration(
        topic_id=first.topic_id,
        partition_id=first.partition_id,
        leader_epoch=first.leader_epoch,
        partition_epoch=first.partition_epoch,
        new_isr=tuple([IsrMember(replica) for replica in (1, 2, 3)]),
    )
    leader = AlterPartition(
        broker_id=first.leader, broker_epoch=epochs[first.leader], partitions=(returned,)
    )
    await asyncio.gather(
        office.controller.submit(partial(alter_partition, request=leader)),
        _create(office, "new", [1, 2]),
    )
    await fencing
    assert _in_isr(office) == 0
    assert not list(check_image(office.controller.image))


async def test_a_transaction_comes_between_the_steps_whole(office: Office) -> None:
    epochs = await _filled(office)
    start = len(office.log.batches)
    fencing = _WAYS_OUT["by command"](office, epochs)
    async with office.controller.transaction("t") as transaction:
        await transaction.submit(partial(unregister_broker, broker_id=3))
    await fencing
    types = [
        type(record).__name__ for batch in office.log.batches[start:] for record in batch.records
    ]
    begin, end = types.index("BeginTransactionRecord"), types.index("EndTransactionRecord")
    assert types[end - 1] == "UnregisterBrokerRecord"
    assert end - begin == _PARTITIONS + 1
    assert types[-1] == "BrokerRegistrationChangeRecord"


async def test_a_failure_after_the_first_step_is_partial(office: Office) -> None:
    epochs = await _filled(office)
    fencing = _WAYS_OUT["by command"](office, epochs)
    while _in_isr(office) > 6:
        await asyncio.sleep(0)
    done_to = office.controller.image.provenance.offset
    office.log.error = UnavailableError("the disk is full")
    with pytest.raises(MetadataLogError, match=f"up to offset {done_to} are committed") as caught:
        await fencing
    assert (caught.value.outcome, caught.value.done_to) == (Outcome.PARTIAL, done_to)
    office.log.error = None
    await _WAYS_OUT["by command"](office, epochs)
    assert _in_isr(office) == 0


async def test_a_refusal_after_the_first_step_is_partial(office: Office) -> None:
    epochs = await _filled(office)
    fencing = _beat(office, 1, epochs, want_fence=True)
    removed = office.controller.submit(partial(unregister_broker, broker_id=1))
    await removed
    with pytest.raises(MetadataLogError) as caught:
        await fencing
    assert caught.value.outcome is Outcome.PARTIAL
    assert await code_of(_beat(office, 1, epochs)) == "STALE_BROKER_EPOCH"


async def test_a_caller_that_goes_away_stops_it(office: Office) -> None:
    epochs = await _filled(office)
    fencing = _WAYS_OUT["by command"](office, epochs)
    fencing.cancel()
    for _ in range(10):
        await _beat(office, 2, epochs)
    assert _in_isr(office) == 6


async def test_only_the_last_step_has_the_request_id(office: Office) -> None:
    epochs = await _filled(office)
    start = len(office.log.batches)
    origin = Origin(principal="User:ann", request_id="7", request_hash=b"h")
    decision = BoundDecision("fence", set_fencing, SetFencing(broker_id=1, fenced=True))
    fencing = office.controller.submit(decision, origin=origin)
    assert office.controller.submit(decision, origin=origin) is not fencing
    await fencing
    batches = office.log.batches[start:]
    assert [batch.origin and batch.origin.request_id for batch in batches] == [None] * 3 + ["7"]
    assert {batch.origin and batch.origin.principal for batch in batches} == {"User:ann"}
    assert all(epochs)
