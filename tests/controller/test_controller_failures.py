"""State of the controller after the log fails."""

import asyncio
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from controller.controller import Controller
from controller.decisions.brokers.heartbeats import Heartbeat, fence_stale_broker
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from controller.raw_appends.raw_append import AppendRecords
from controller.results.answer import Answer
from controller.results.result import ControllerResult
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord
from records.control import NoOpRecord
from records.envelope import Origin
from records.errors import FencedError, Outcome, RequestError, UnavailableError
from replay.loader import load_image
from tests.controller.office import Clock, Office, code_of, nothing, outcome_of

FULL = (UnavailableError, Outcome.NOTHING)


async def test_a_full_disk_is_told_as_it_is_and_nothing_of_it_happened(office: Office) -> None:
    office.log.hold()
    futures = [office.namespace("a"), office.namespace("b")]
    idle = office.controller.submit(nothing)
    office.log.error = UnavailableError("the disk is full")
    office.log.release()
    assert [await outcome_of(future) for future in futures] == [FULL] * 2
    # It wrote nothing, but what it read never came to be.
    assert await outcome_of(idle) == (RequestError, Outcome.NOTHING)
    assert office.names() == []


async def test_what_failed_never_happened_for_the_next_decision(office: Office) -> None:
    office.log.error = UnavailableError("the disk is full")
    assert await outcome_of(office.namespace("a")) == FULL
    await office.controller.drained()
    office.log.error = None
    await office.namespace("a")
    assert office.names() == ["a"]


async def test_refusal_that_rests_on_what_failed_is_not_told(office: Office) -> None:
    office.log.hold()
    first, again = office.namespace("a"), office.namespace("a")
    office.log.error = UnavailableError("the disk is full")
    office.log.release()
    assert await outcome_of(first) == (UnavailableError, Outcome.NOTHING)
    assert await code_of(again) == "NOT_CONTROLLER"
    office.log.error = None
    await office.namespace("a")


async def test_a_failure_is_settled_before_its_callers_hear_of_it(office: Office) -> None:
    office.log.hold()
    first, second = office.namespace("a"), office.namespace("b")
    office.log.error = UnavailableError("the disk is full")
    office.log.release()
    late: list[asyncio.Future[Answer[Any]]] = []

    def ask_again(_: object) -> None:
        office.log.error = None
        late.append(office.namespace("a"))

    first.add_done_callback(ask_again)
    assert await outcome_of(first) == await outcome_of(second) == FULL
    await late[0]
    assert office.names() == ["a"]


async def test_nothing_is_decided_while_a_failure_is_being_settled(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_fail, calls = asyncio.Event(), []

    async def append(batch: object, *, expected_end_offset: int) -> None:
        calls.append(batch)
        if len(calls) > 1:
            await may_fail.wait()
        raise UnavailableError("the disk is full")

    monkeypatch.setattr(office.log, "append", append)
    asked = [office.namespace("a"), office.namespace("b")]
    # The first failure is known, the second append has yet to fail.
    async with asyncio.timeout(60):
        while office.controller.is_active:
            await asyncio.sleep(0)
    late = office.namespace("c")
    assert await outcome_of(late) == (RequestError, Outcome.NOTHING)
    assert await code_of(late) == "NOT_CONTROLLER"
    assert not any(future.done() for future in asked)
    may_fail.set()
    assert [await outcome_of(future) for future in asked] == [FULL] * 2


async def test_what_was_committed_before_the_failure_stays(office: Office) -> None:
    await office.namespace("a")
    office.log.error = UnavailableError("the disk is full")
    assert await outcome_of(office.namespace("b")) == FULL
    assert office.names() == ["a"]
    assert office.controller.image.provenance.next_offset == office.log.end_offset


async def test_a_fenced_controller_never_decides_again(office: Office) -> None:
    office.log.error = FencedError("epoch 2 has begun")
    assert await outcome_of(office.namespace("a")) == (FencedError, Outcome.UNKNOWN)
    await office.controller.drained()
    office.log.error = None
    assert not office.controller.is_active
    late = office.namespace("a")
    assert await outcome_of(late) == (RequestError, Outcome.NOTHING)
    assert await code_of(late) == "NOT_CONTROLLER"
    assert len(office.log.batches) == 1


async def test_of_an_unforeseen_error_of_the_log_nothing_is_known(office: Office) -> None:
    office.log.error = OSError("input/output error")
    assert await outcome_of(office.namespace("a")) == (FencedError, Outcome.UNKNOWN)
    await office.controller.drained()
    assert not office.controller.is_active


async def test_a_refusal_of_unknown_outcome_ends_the_office(office: Office) -> None:
    office.log.error = UnavailableError("no answer", outcome=Outcome.UNKNOWN)
    assert await outcome_of(office.namespace("a")) == (UnavailableError, Outcome.UNKNOWN)
    await office.controller.drained()
    assert not office.controller.is_active


async def test_a_log_that_somebody_else_wrote_to_is_not_written_again(office: Office) -> None:
    office.log.end_offset += 1
    assert await code_of(office.namespace("a")) == "NOT_CONTROLLER"
    await office.controller.drained()
    assert not office.controller.is_active


def many(count: int) -> ControllerResult[None]:
    """Decide more records than fit in one batch."""
    records = tuple([NoOpRecord()] * count)
    return ControllerResult(response=None, records=records, atomic=False)


async def test_of_many_batches_the_first_can_stand_alone(office: Office) -> None:
    start = office.log.end_offset
    office.log.room = 1
    with pytest.raises(UnavailableError) as caught:
        await office.controller.submit(lambda _: many(20_001))
    assert caught.value.outcome is Outcome.PARTIAL
    assert caught.value.done_to == start + 9_999 == office.log.end_offset - 1
    assert f"up to offset {start + 9_999} are committed" in str(caught.value)
    office.log.room = None
    await office.namespace("a")


async def test_of_many_batches_none_stands_when_the_first_fails(office: Office) -> None:
    office.log.room = 0
    assert await outcome_of(office.controller.submit(lambda _: many(10_001))) == FULL


async def test_what_stands_may_be_more_when_the_writer_was_fenced(office: Office) -> None:
    office.log.room = 1
    office.log.full = FencedError("epoch 2 has begun")
    failed = office.controller.submit(lambda _: many(10_001))
    assert await outcome_of(failed) == (FencedError, Outcome.UNKNOWN)


async def test_a_part_of_a_transaction_is_nothing(office: Office) -> None:
    async def body() -> None:
        async with office.controller.transaction("import") as transaction:
            office.log.room = 1
            await transaction.submit(lambda _: many(10_001))

    with pytest.raises(UnavailableError) as caught:
        await body()
    assert caught.value.outcome is Outcome.NOTHING


async def test_a_batch_that_the_log_refuses_is_told_apart_from_its_neighbours(
    office: Office,
) -> None:
    office.log.hold()
    too_large, idle, next_ = (
        office.namespace("a"),
        office.controller.submit(nothing),
        office.namespace("b"),
    )
    refusal = RequestError("POLICY_VIOLATION", "larger than 8 MiB")
    office.log.refuse_next(refusal)
    office.log.release()
    assert [await code_of(future) for future in (too_large, idle, next_)] == [
        "POLICY_VIOLATION",
        "NOT_CONTROLLER",
        "NOT_CONTROLLER",
    ]
    await office.controller.drained()
    assert office.controller.is_active
    await office.namespace("a")


async def test_what_the_log_has_no_room_for_is_refused_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_log(tmp_path / "log", cluster_id="test")
    log = await MetadataLog.open(tmp_path / "log")
    with LogReader.open(tmp_path / "log") as reader:
        controller = Controller(log, load_image(reader), clock=Clock(), rng=Random(1))
    await controller.activate()
    for module in ("controller.pipeline.pipeline", "metadata_log.writer.append_queue"):
        monkeypatch.setattr(f"{module}.PENDING_BATCHES_MAX", 6)
    # Three are left for a transaction that is to begin and end.
    asked = [
        controller.submit(partial(create_namespace, request=CreateNamespace(name)))
        for name in "abcd"
    ]
    with pytest.raises(UnavailableError, match="try again"):
        async with controller.transaction("t"):
            pass
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [Answer, Answer, Answer, UnavailableError]
    async with controller.transaction("t") as transaction:
        await transaction.submit(partial(create_namespace, request=CreateNamespace("d")))
    assert len(list(controller.image.namespaces())) == 4
    await log.close()


async def test_what_is_too_large_for_the_log_is_refused_alone(office: Office) -> None:
    large = ConfigRecord(resource_type=4, resource_name="", name="a", value="x" * 9_000_000)
    text = Origin(reason="x" * 9_000_000)
    office.log.hold()
    refused = [
        office.controller.submit(lambda _: ControllerResult(response=None, records=(large,))),
        office.namespace("a", origin=text),
        office.controller.append(AppendRecords(records=(NoOpRecord(),)), origin=text),
    ]
    next_ = office.namespace("b")
    office.log.release()
    assert [await code_of(future) for future in refused] == ["POLICY_VIOLATION"] * 3
    await next_
    assert office.names() == ["b"]


async def test_sessions_begin_anew_after_a_failure(office: Office) -> None:
    epoch = await office.register(1)
    beat = Heartbeat(broker_id=1, broker_epoch=epoch, metadata_offset=office.log.end_offset)
    await office.controller.heartbeat(beat)
    office.clock.time_ms += 9_000
    office.log.error = UnavailableError("the disk is full")
    assert await outcome_of(office.namespace("a")) == FULL
    await office.controller.drained()
    office.log.error = None
    office.clock.time_ms += 9_000
    assert (await office.controller.submit(fence_stale_broker)).response is None
    office.clock.time_ms += 1
    assert (await office.controller.submit(fence_stale_broker)).response == 1


async def test_an_activation_that_fails_can_be_tried_again() -> None:
    office = Office()
    office.log.error = UnavailableError("the disk is full")
    with pytest.raises(UnavailableError):
        await office.controller.activate()
    assert not office.controller.is_active
    await office.controller.drained()
    office.log.error = None
    await office.controller.activate()
    assert office.controller.is_active


async def test_a_caller_that_goes_away_stops_nobody_else(office: Office) -> None:
    office.log.hold()
    gone, stays = office.namespace("a"), office.namespace("b")
    gone.cancel()
    office.log.release()
    await stays
    assert office.names() == ["a", "b"]
