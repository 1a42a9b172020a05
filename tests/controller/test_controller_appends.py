"""Raw appends to a controller: several in one turn, repeated ones, and those that get lost."""

import asyncio
import contextlib
from collections.abc import Awaitable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from controller.asked.asked import request_of
from controller.controller import Controller
from controller.decisions.context.context import Context
from controller.decisions.versions import ExpectedVersion, version_of
from controller.raw_appends.raw_append import (
    Appended,
    AppendRecords,
    AppendRows,
    append_records,
)
from controller.results.answer import Answer
from controller.results.result import ControllerResult
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.avro.codec import encoders_of
from records.avro.layout import NEWEST
from records.base import Record
from records.configs import ConfigRecord
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import FencedError, Outcome, RequestError, UnavailableError
from records.partitions import (
    PartitionChangeRecord,
)
from records.topics import TopicRecord
from replay.loader import load_image
from tests.controller.office import Office, code_of, nothing, outcome_of
from tests.replay.builders import broker, partition, topic, uid

_NOTE = NoteRecord(at_offset=0, author="alice", text="here it began")


def _value(name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=4, resource_name="", name=name, value=value)


async def test_of_two_writers_who_saw_the_same_version_one_wins(office: Office) -> None:
    topic = TopicRecord(name="orders", topic_id=uid("orders"))
    await office.controller.append(AppendRecords(records=(topic,)))
    config = ConfigRecord(resource_type=2, resource_name="orders", name="a", value="0")
    await office.controller.append(AppendRecords(records=(config,)))
    name = "config:topic/orders"
    seen = version_of(office.controller.image, name)
    office.log.hold()
    futures = []
    for value in ("1", "2"):
        record = ConfigRecord(resource_type=2, resource_name="orders", name="a", value=value)
        request = AppendRecords(records=(record,), expected_versions=(ExpectedVersion(name, seen),))
        futures.append(office.controller.append(request))
    office.log.release()
    assert await code_of(futures[1]) == "INVALID_UPDATE_VERSION"
    await futures[0]
    assert office.controller.image.config(2, "orders") == {"a": "1"}


async def test_appends_of_one_turn_are_all_decided_before_the_log_gets_the_first(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def decided(context: Context, request: AppendRecords) -> ControllerResult[Appended]:
        steps.append("decide")
        return append_records(context, request)

    def append(batch: NewBatch, **conditions: Any) -> Awaitable[AppendResult]:
        steps.append("append")
        return to_log(batch, **conditions)

    to_log = office.log.append
    monkeypatch.setattr("controller.decider.append_records", decided)
    monkeypatch.setattr(office.log, "append", append)
    futures = [office.controller.append(AppendRecords(records=(_NOTE,))) for _ in range(3)]
    answers = [(await future).response for future in futures]
    assert steps == ["decide"] * 3 + ["append"] * 3
    assert len({answer.base_offset for answer in answers}) == 3


@pytest.mark.parametrize("expected_end", [False, True])
async def test_append_keeps_the_same_with_and_without_a_request_id(
    office: Office, expected_end: bool
) -> None:
    for origin in (Origin(command="append"), Origin(request_id="r1", request_hash=b"hash")):
        end = office.log.end_offset if expected_end else None
        request = AppendRecords(records=(_NOTE,), expected_end_offset=end)
        answer = await office.controller.append(request, origin=origin)
        assert answer.response == Appended(
            base_offset=office.log.end_offset - 1,
            end_offset=office.log.end_offset,
            timestamp=office.clock.time_ms,
        )
    plain, repeatable = [batch.asked for batch in office.log.batches[1:]]
    assert plain is not None and repeatable is not None
    assert repeatable.response is not None
    end = office.log.end_offset - 2 if expected_end else None
    kept = AppendRows(rows=b"", count=0, expected_end_offset=end)
    assert request_of(plain, AppendRows, ()) == kept
    assert replace(plain, request=None) == replace(repeatable, request=None, response=None)


async def test_appends_of_one_turn_have_an_outcome_each(office: Office) -> None:
    def append(*records: Record, **conditions: Any) -> asyncio.Future[Answer[Appended]]:
        return office.controller.append(AppendRecords(records=records, **conditions))

    def value(text: str) -> ConfigRecord:
        return ConfigRecord(resource_type=4, resource_name="1", name="a", value=text)

    end = office.log.end_offset
    seen = (ExpectedVersion("config:broker/1", end),)
    first = append(value("1"))
    at_old_end = append(_NOTE, expected_end_offset=end)
    half = append(value("lost"), PartitionChangeRecord(partition_id=0, topic_id=uid("gone")))
    second = append(value("2"), expected_versions=seen)
    late = append(value("lost"), expected_versions=seen)
    append(value("lost")).cancel()
    assert await code_of(at_old_end) == await code_of(late) == "INVALID_UPDATE_VERSION"
    assert await code_of(half) == "INVALID_RECORD"
    answers = [await first, await second]
    assert [each.response.base_offset for each in answers] == [end, end + 1]
    assert [each.end_offset for each in answers] == [end + 1, end + 2]
    assert [batch.records for batch in office.log.batches[1:]] == [(value("1"),), (value("2"),)]
    assert office.controller.image.config(4, "1") == {"a": "2"}


async def test_requests_do_not_overtake_the_appends_before_them(office: Office) -> None:
    before = office.controller.append(AppendRecords(records=(_value("a", "1"),)))
    command = office.namespace("a")
    after = office.controller.append(AppendRecords(records=(_value("a", "2"),)))
    async with office.controller.transaction("in between") as transaction:
        await transaction.append(AppendRecords(records=(_value("a", "3"),)))
    offsets = [(await each).end_offset for each in (before, command, after)]
    assert offsets == sorted(offsets)
    assert office.controller.image.config(4, "") == {"a": "3"}


async def test_appends_of_the_turn_in_which_the_log_is_lost_are_refused(office: Office) -> None:
    office.log.error = FencedError("epoch 2 has begun")
    asked: list[asyncio.Future[Any]] = [office.namespace("a")]
    while office.controller.is_active:
        asked.append(office.controller.append(AppendRecords(records=(_NOTE,))))
        await asyncio.sleep(0)
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(outcomes[0], FencedError)
    assert isinstance(outcomes[-1], RequestError) and outcomes[-1].code == "NOT_CONTROLLER"


async def test_append_before_activation_is_refused() -> None:
    office = Office()
    assert await code_of(office.controller.append(AppendRecords(records=(_NOTE,)))) == (
        "NOT_CONTROLLER"
    )
    assert office.log.batches == []


async def test_append_of_the_turn_before_activation_is_refused() -> None:
    office = Office()
    early = office.controller.append(AppendRecords(records=(_NOTE,)))
    await office.controller.activate()
    assert await code_of(early) == "NOT_CONTROLLER"
    assert [batch.origin and batch.origin.command for batch in office.log.batches] == ["activate"]


async def test_repeat_of_a_request_in_flight_is_done_once(office: Office) -> None:
    origin = Origin(request_id="r1", request_hash=b"hash")
    office.log.hold()
    first, again = office.namespace("a", origin=origin), office.namespace("a", origin=origin)
    stolen = office.namespace("b", origin=Origin(request_id="r1", request_hash=b"other"))
    assert await code_of(stolen) == "INVALID_REQUEST"
    office.log.release()
    assert await first == await again
    assert len(office.log.batches) == 2
    assert await code_of(office.namespace("a", origin=origin)) == "DUPLICATE_RESOURCE"


async def test_request_id_without_a_hash_is_refused(office: Office) -> None:
    """Not ignored: the caller would take the request for one that is carried out once."""
    origin = Origin(request_id="r1")
    records = AppendRecords(records=(_NOTE,))
    assert await code_of(office.namespace("a", origin=origin)) == "INVALID_REQUEST"
    assert await code_of(office.controller.append(records, origin=origin)) == "INVALID_REQUEST"
    async with office.controller.transaction("two") as transaction:
        assert await code_of(transaction.append(records, origin=origin)) == "INVALID_REQUEST"
    with pytest.raises(RequestError, match="cannot have a request id"):
        async with office.controller.transaction("three", origin=origin):
            pass
    assert office.names() == []


async def test_a_caller_that_gives_up_leaves_the_repeat_an_answer(office: Office) -> None:
    origin = Origin(request_id="r1", request_hash=b"hash")
    office.log.hold()
    first, again = office.namespace("a", origin=origin), office.namespace("a", origin=origin)
    first.cancel()
    assert await outcome_of(again) == (UnavailableError, Outcome.UNKNOWN)
    office.log.release()
    await office.controller.submit(nothing)
    assert office.names() == ["a"]


async def test_only_the_last_of_many_batches_carries_the_requests_id(office: Office) -> None:
    origin = Origin(principal="User:alice", request_id="r1", request_hash=b"hash")
    result = ControllerResult(response=None, records=(_NOTE,) * 10_001, atomic=False)
    await office.controller.submit(lambda _: result, origin=origin)
    origins = [batch.origin for batch in office.log.batches[1:]]
    assert origins == [Origin(principal="User:alice"), origin]


async def test_state_after_appends_is_that_of_a_replay_of_the_log(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "test")
    log = await MetadataLog.open(tmp_path / "log")
    with log.reader() as reader:
        image = load_image(reader)
    controller = Controller(log, image, clock=log.clock, rng=Random(1))
    await controller.activate()
    await controller.append(AppendRecords(records=(_NOTE,)))
    brokers = [broker(id_, fenced=False) for id_ in (1, 2, 3)]
    made = (*brokers, topic("orders"), partition("orders", 0))
    await controller.append(AppendRecords(records=made))
    async with controller.transaction("two") as transaction:
        await transaction.append(AppendRecords(records=(_value("a", "1"), _value("b", "1"))))
        await transaction.append(AppendRecords(records=(_value("b", None),)))
    with contextlib.suppress(KeyError):
        async with controller.transaction("dropped") as transaction:
            await transaction.append(AppendRecords(records=(_value("c", "1"),)))
            raise KeyError
    await controller.append(AppendRecords(records=(_value("d", "1"),) * 2))
    await log.close()
    assert controller.image.config(4, "") == {"a": "1", "d": "1"}
    with LogReader.open(tmp_path / "log") as reader:
        assert load_image(reader) == controller.image


async def test_after_a_lost_append_decisions_continue_without_it(office: Office) -> None:
    office.log.room = 1
    first = office.controller.append(AppendRecords(records=(_value("a", "1"),)))
    lost = office.controller.append(AppendRecords(records=(_value("b", "1"),)))
    await first
    with pytest.raises(UnavailableError):
        await lost
    office.log.room = None
    await office.controller.append(AppendRecords(records=(_value("c", "1"),)))
    assert office.controller.image.config(4, "") == {"a": "1", "c": "1"}


async def test_append_whose_origin_cannot_be_encoded_leaves_those_beside_it(office: Office) -> None:
    request = AppendRecords(
        records=(_NOTE,), payloads=(encoders_of(NEWEST.field_count)[NoteRecord](_NOTE),)
    )
    reasons = ["before", "\ud800", "after"]
    before, wrong, after = [
        office.controller.append(request, origin=Origin(reason=reason)) for reason in reasons
    ]
    assert await code_of(wrong) == "INVALID_RECORD"
    assert (await after).end_offset == (await before).end_offset + 1
