"""A decision made in several turns of the event loop: what others see and do between them."""

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from api.requests.commands import any_command
from api.requests.transactions import Step, Transact
from api.socket.appends import rows_request
from controller.asked.asked import BoundDecision
from controller.authorization.caller import CONTROLLER
from controller.decisions.brokers.heartbeats import Heartbeat
from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.context.context import Context
from controller.decisions.ids import new_id
from controller.decisions.items import ITEMS_IN_TURN
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.decisions.partitions.elections import ElectLeaders
from controller.decisions.partitions.reassignments import AlterReassignments, PartitionTarget
from controller.decisions.topics.topics import CreateTopics, NewTopic
from controller.descriptions.namespaces import ListNamespaces
from controller.raw_appends.raw_append import IN_TURNS, AppendRecords
from controller.results.result import ControllerResult
from controller.results.turns import Turns
from metadata_log.limits import BATCH_RECORDS_MAX
from records.base import Record
from records.control import NoOpRecord
from records.errors import Outcome, RequestError, UnavailableError
from records.partitions import PartitionChangeRecord, PartitionRecord
from records.topics import TopicRecord
from replay.loader import Replayer
from tests.controller.cluster import directory
from tests.controller.office import Office, code_of, namespaces_in_turns, outcome_of

_TURNS = 5
_HOPS = 4
"""Turns of the loop that a request takes: read, handed to its task, answered, written."""

_IN_TOPIC = 100


async def _turn() -> None:
    await asyncio.sleep(0)


def _written(office: Office) -> list[Record]:
    """Return the records after the log's first batch, which has the levels."""
    return [record for batch in office.log.batches[1:] for record in batch.records]


async def test_nothing_is_sent_before_the_last_turn(office: Office) -> None:
    answer = office.controller.submit(namespaces_in_turns("a", "b", "c"))
    for _ in range(3):
        assert _written(office) == []
        await _turn()
    await answer
    assert office.names() == ["a", "b", "c"]
    assert len(_written(office)) == 5


async def test_other_decisions_wait_and_see_all_of_it(office: Office) -> None:
    first = office.controller.submit(namespaces_in_turns("a", "b"))
    later = office.controller.append(AppendRecords(records=(NoOpRecord(),)))
    refused = office.namespace("b")
    second = office.controller.submit(namespaces_in_turns("c", "d"))
    last = office.namespace("e")
    assert await code_of(refused) == "DUPLICATE_RESOURCE"
    ends = [(await each).end_offset for each in (first, later, second, last)]
    assert ends == sorted(ends)
    assert office.names() == ["a", "b", "c", "d", "e"]


async def test_a_transaction_begins_behind_it(office: Office) -> None:
    first = office.controller.submit(namespaces_in_turns("a", "b"))
    async with office.controller.transaction("t") as transaction:
        assert office.names() == [] or first.done()
        inside = transaction.submit(partial(create_namespace, request=CreateNamespace("b")))
    assert await code_of(inside) == "DUPLICATE_RESOURCE"
    await first


def _beat(broker_id: int, epoch: int, office: Office) -> Heartbeat:
    offset = office.log.end_offset - 1
    return Heartbeat(broker_id=broker_id, broker_epoch=epoch, metadata_offset=offset)


async def test_heartbeats_are_answered_between_its_turns(office: Office) -> None:
    epoch = await office.register(1)
    await office.controller.heartbeat(_beat(1, epoch, office))
    office.clock.time_ms += 8_000
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    beat = office.controller.heartbeat(_beat(1, epoch, office))
    assert beat.done() and not beat.result().response.is_fenced
    assert not decision.done()
    sessions = office.controller.view.sessions
    session = None if sessions is None else sessions.get(1)
    assert session is not None and session.last_contact_ms == office.clock.time_ms
    await decision


async def test_questions_may_be_answered_between_its_turns(office: Office) -> None:
    await office.namespace("before")
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    list_ = any_command("namespaces list").bound(ListNamespaces(), CONTROLLER)
    at_once, in_order = office.controller.ask_at_once(list_), office.controller.ask(list_)
    assert at_once.done() and not in_order.done() and not decision.done()
    assert [each.name for each in (await at_once).response] == ["before"]
    assert [each.name for each in (await in_order).response] == ["a", "b", "before"]


async def test_a_request_gets_from_its_connection_to_its_answer_between_two_turns(
    office: Office,
) -> None:
    taken = 0

    def in_turns(context: Context, _: object) -> Turns[ControllerResult[None]]:
        nonlocal taken
        for _ in range(_TURNS):
            taken += 1
            yield
        return ControllerResult(response=None)

    decision = office.controller.submit(BoundDecision("t", _never, in_turns=in_turns))
    seen = []
    while not decision.done():
        before = taken
        for _ in range(_HOPS):
            await _turn()
        seen.append(taken - before)
    assert taken == _TURNS
    assert max(seen) == 1


def _never(_: Context) -> ControllerResult[None]:
    raise AssertionError("it is decided in turns")


async def test_a_heartbeat_that_writes_waits(office: Office) -> None:
    epoch = await office.register(1)
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    beat = office.controller.heartbeat(_beat(1, epoch, office))
    assert not beat.done()
    assert not (await beat).response.is_fenced
    assert decision.done()


@pytest.mark.parametrize("partitions", [100, 2_000])
async def test_to_see_that_a_heartbeat_writes_takes_no_longer_for_many_partitions(
    office: Office, partitions: int
) -> None:
    epoch = await office.register(1)
    await office.controller.heartbeat(_beat(1, epoch, office))
    topic = NewTopic(name="large", partitions=partitions, replication_factor=1)
    create = any_command("topics create").bound(CreateTopics(topics=(topic,)), CONTROLLER)
    await office.controller.submit(create)
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    calls = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(called)
    beat = office.controller.heartbeat(replace(_beat(1, epoch, office), want_fence=True))
    sys.setprofile(before)
    assert not beat.done()
    assert calls < 500
    assert (await beat).response.is_fenced and decision.done()


async def test_a_heartbeat_that_is_refused_waits(office: Office) -> None:
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    beat = office.controller.heartbeat(_beat(1, 7, office))
    assert not beat.done()
    assert await code_of(beat) == "STALE_BROKER_EPOCH"
    assert decision.done()


async def test_a_refusal_in_a_later_turn_leaves_nothing(office: Office) -> None:
    first = office.controller.submit(namespaces_in_turns("a", "b", "a"))
    second = office.namespace("c")
    assert await code_of(first) == "DUPLICATE_RESOURCE"
    await second
    assert office.names() == ["c"]


async def test_a_bug_in_a_later_turn_stops_nobody_else(office: Office) -> None:
    def in_turns(context: Context, _: object) -> Turns[ControllerResult[None]]:
        yield
        raise ZeroDivisionError

    first = office.controller.submit(BoundDecision("t", namespaces_in_turns(), in_turns=in_turns))
    second = office.namespace("c")
    with pytest.raises(ZeroDivisionError):
        await first
    await second


@pytest.mark.parametrize("turns", range(_TURNS))
async def test_a_failure_of_an_earlier_batch_refuses_it(office: Office, turns: int) -> None:
    office.log.hold()
    earlier = office.namespace("x")
    await _turn()
    decision = office.controller.submit(namespaces_in_turns(*"abcdefgh"))
    waiting = office.namespace("y")
    for _ in range(turns):
        await _turn()
    office.log.error = UnavailableError("the disk is full")
    office.log.release()
    with pytest.raises(UnavailableError):
        await earlier
    office.log.error = None
    assert await outcome_of(decision) == (RequestError, Outcome.NOTHING)
    await waiting
    assert office.names() == ["y"]


def _append(office: Office) -> asyncio.Future[Any]:
    return office.controller.append(AppendRecords(records=(NoOpRecord(),)))


@pytest.mark.parametrize("ask", [lambda office: office.namespace("z"), _append])
async def test_after_a_failure_newcomers_follow_what_waited(
    office: Office, ask: Callable[[Office], asyncio.Future[Any]]
) -> None:
    office.log.hold()
    earlier = office.namespace("x")
    refused = office.controller.submit(namespaces_in_turns("a", "b", "c", "d"))
    waiting = [office.namespace("y"), _append(office)]
    newcomers: list[asyncio.Future[Any]] = []

    def come(_: object) -> None:
        office.log.error = None
        newcomers.append(ask(office))

    earlier.add_done_callback(come)
    office.log.error = UnavailableError("the disk is full")
    office.log.release()
    assert await outcome_of(earlier) == (UnavailableError, Outcome.NOTHING)
    assert await code_of(refused) == "NOT_CONTROLLER"
    ends = [(await each).end_offset for each in (*waiting, *newcomers)]
    assert ends == sorted(set(ends)) and len(ends) == 3


async def test_nobody_asks_for_it_any_more(office: Office) -> None:
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    waiting = office.namespace("c")
    decision.cancel()
    await waiting
    assert office.names() == ["c"]


async def test_a_controller_that_resigns_refuses_it(office: Office) -> None:
    decision, waiting = (
        office.controller.submit(namespaces_in_turns("a", "b")),
        office.namespace("c"),
    )
    office.controller.resign()
    assert await code_of(decision) == await code_of(waiting) == "NOT_CONTROLLER"
    await office.controller.drained()
    assert _written(office) == []


async def test_draining_waits_for_it(office: Office) -> None:
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    await office.controller.drained()
    assert decision.done() and office.names() == ["a", "b"]


async def _with_partitions(office: Office, count: int) -> list[PartitionRecord]:
    for broker_id in (1, 2):
        epoch = await office.register(broker_id)
        await office.controller.heartbeat(_beat(broker_id, epoch, office))
    records: list[Record] = []
    partitions, rng = [], Random(7)
    for number in range(count):
        if number % _IN_TOPIC == 0:
            topic_id = new_id(rng)
            records.append(TopicRecord(name=f"t{number}", topic_id=topic_id))
        partition = PartitionRecord(
            topic_id=topic_id,
            partition_id=number % _IN_TOPIC,
            replicas=(1, 2),
            isr=(1, 2),
            removing_replicas=(),
            adding_replicas=(),
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            directories=(directory(1), directory(2)),
        )
        partitions.append(partition)
        records.append(partition)
    await office.controller.append(AppendRecords(records=tuple(records)))
    return partitions


def _moves(partitions: list[PartitionRecord], leader: int) -> tuple[Record, ...]:
    return tuple(
        [
            PartitionChangeRecord(topic_id=p.topic_id, partition_id=p.partition_id, leader=leader)
            for p in partitions
        ]
    )


async def test_raw_records_of_one_append_are_checked_in_turns(office: Office) -> None:
    partitions = await _with_partitions(office, IN_TURNS)
    before = office.controller.append(AppendRecords(records=(NoOpRecord(),)))
    large = office.controller.append(AppendRecords(records=_moves(partitions, 2)))
    after = office.controller.append(AppendRecords(records=(NoOpRecord(),)))
    await _turn()
    assert not large.done()
    ends = [(await each).end_offset for each in (before, large, after)]
    assert ends == sorted(ends)
    _check_log(office)


@pytest.mark.parametrize("in_step", [100, 2_600])
async def test_a_large_transaction_leaves_what_its_log_says(office: Office, in_step: int) -> None:
    """In one batch and in two; no reader sees a part of it."""
    partitions = await _with_partitions(office, in_step)
    before, steps = office.controller.image, []
    for number in range(4):
        append = rows_request(_moves(partitions, 2 - number % 2))
        steps.append(Step.of("records append", append))
    transact = any_command("transaction").bound(Transact(steps=tuple(steps)), CONTROLLER)
    sent = len(office.committed)
    answer = await office.controller.submit(transact)
    await office.namespace("after")
    count = 4 * in_step + 2
    assert answer.end_offset == before.provenance.next_offset + count
    *partial_images, image = [image for _, image in office.committed[sent:-1]]
    assert len(partial_images) == (count - 1) // BATCH_RECORDS_MAX
    first = partitions[0]
    for each in partial_images:
        assert each.partition(first.topic_id, 0) is before.partition(first.topic_id, 0)
    changed = image.partition(first.topic_id, 0)
    assert changed is not None and changed.partition_epoch == 4
    _check_log(office)


def _check_log(office: Office) -> None:
    """Check that each committed image, and the last index, are those of a replay."""
    replayer = Replayer()
    for batch, image in office.committed:
        replayer.replay(batch)
        assert replayer.image() == image
    assert ClusterIndex.of(image) == office.controller.state.index


_ITEMS = 2 * ITEMS_IN_TURN + 1

_MANY: dict[str, Any] = {
    "topics create": CreateTopics(
        topics=tuple([NewTopic(name=f"t{n}", partitions=1) for n in range(_ITEMS)])
    ),
    "leaders elect": ElectLeaders(partitions=tuple([("none", n) for n in range(_ITEMS)])),
    "reassignments alter": AlterReassignments(
        partitions=tuple(
            [PartitionTarget(topic="none", partition_id=n, broker_ids=(1,)) for n in range(_ITEMS)]
        )
    ),
}


@pytest.mark.parametrize("command", _MANY)
async def test_many_items_are_decided_in_turns(office: Office, command: str) -> None:
    """They are all answered, and a heartbeat between their turns."""
    epoch = await office.register(1)
    await office.controller.heartbeat(_beat(1, epoch, office))
    bound = any_command(command).bound(_MANY[command], CONTROLLER)
    answer = office.controller.submit(bound)
    for _ in range(_ITEMS // ITEMS_IN_TURN - 1):
        await _turn()
        assert not answer.done()
        assert office.controller.heartbeat(_beat(1, epoch, office)).done()
    results = (await answer).response
    refused = [result.refusal for result in results if result.refusal is not None]
    assert (len(results), len(refused)) == (_ITEMS, 0 if command == "topics create" else _ITEMS)
    _check_log(office)


def test_a_step_is_decoded_once() -> None:
    step = Step.of("namespaces create", CreateNamespace("a"))
    assert step.request_as(CreateNamespace) is step.request_as(CreateNamespace)
    assert step == Step.of("namespaces create", CreateNamespace("a"))
