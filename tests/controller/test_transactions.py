"""Metadata transactions: all records take effect together or not at all, one transaction at a
time.
"""

import asyncio
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from controller.controller import Controller
from controller.decider import Decision
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    NamespaceResult,
    create_namespace,
)
from controller.raw_appends.raw_append import AppendRecords
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord
from records.control import AbortTransactionRecord
from records.envelope import Origin
from records.errors import FencedError, MetadataLogError, RequestError, UnavailableError
from replay.loader import load_image
from tests.controller.office import Clock, Office, code_of, nothing


def _namespace(name: str) -> Decision[NamespaceResult]:
    return partial(create_namespace, request=CreateNamespace(name))


def _types(office: Office) -> list[str]:
    """Return the types of all records after the bootstrap."""
    return [type(r).__name__ for batch in office.log.batches[1:] for r in batch.records]


async def test_batches_of_a_transaction_become_visible_together(office: Office) -> None:
    async with office.controller.transaction("import") as transaction:
        await transaction.submit(_namespace("a"))
        await transaction.submit(_namespace("b"))
        assert office.names() == []
    assert office.names() == ["a", "b"]
    assert _types(office) == [
        "BeginTransactionRecord",
        "NamespaceRecord",
        "NamespaceRecord",
        "EndTransactionRecord",
    ]


async def test_decisions_inside_see_what_was_written_inside(office: Office) -> None:
    async with office.controller.transaction("import") as transaction:
        transaction.submit(_namespace("a"))
        again = transaction.submit(_namespace("a"))
        assert await code_of(again) == "DUPLICATE_RESOURCE"
        await transaction.submit(_namespace("a:b"))
    assert office.names() == ["a", "a:b"]


async def test_records_can_be_appended_inside(office: Office) -> None:
    record = ConfigRecord(resource_type=4, resource_name="", name="a", value="1")
    async with office.controller.transaction("import") as transaction:
        answer = await transaction.append(AppendRecords(records=(record,)))
        assert answer.response.end_offset == answer.response.base_offset + 1
    assert office.controller.image.config(4, "") == {"a": "1"}


async def test_request_inside_a_transaction_cannot_be_repeated(office: Office) -> None:
    origin = Origin(request_id="r1", request_hash=b"hash")
    with pytest.raises(RequestError, match="cannot have a request id"):
        async with office.controller.transaction("t", origin=origin):
            pass
    async with office.controller.transaction("t") as transaction:
        assert await code_of(transaction.submit(_namespace("a"), origin=origin)) == (
            "INVALID_REQUEST"
        )
    assert office.names() == []


async def test_an_exception_aborts_and_nothing_happened(office: Office) -> None:
    before = office.controller.image.features()

    async def body() -> None:
        async with office.controller.transaction("import") as transaction:
            await transaction.submit(_namespace("a"))
            raise ValueError("changed my mind")

    with pytest.raises(ValueError, match="changed my mind"):
        await body()
    await office.controller.drained()
    assert office.names() == []
    last = office.log.batches[-1].records[0]
    assert last == AbortTransactionRecord(reason="ValueError: changed my mind")
    assert office.controller.image.features() == before
    await office.namespace("a")
    assert office.names() == ["a"]


async def test_others_wait_for_the_end_and_keep_their_order(office: Office) -> None:
    async with office.controller.transaction("import") as transaction:
        first, second = office.namespace("x"), office.namespace("y")
        refused = office.namespace("x")
        await transaction.submit(_namespace("a"))
        assert not first.done()
    await asyncio.gather(first, second)
    assert await code_of(refused) == "DUPLICATE_RESOURCE"
    assert office.names() == ["a", "x", "y"]
    assert _types(office)[-3:] == ["EndTransactionRecord", "NamespaceRecord", "NamespaceRecord"]


async def test_transactions_take_turns(office: Office) -> None:
    order = []

    async def run(name: str) -> None:
        async with office.controller.transaction(name) as transaction:
            order.append(f"{name} begins")
            await transaction.submit(_namespace(name))
            order.append(f"{name} ends")

    await asyncio.gather(run("a"), run("b"))
    assert order == ["a begins", "a ends", "b begins", "b ends"]
    assert office.names() == ["a", "b"]


async def test_nothing_can_be_written_through_a_transaction_that_has_ended(office: Office) -> None:
    async with office.controller.transaction("import") as transaction:
        pass
    late = transaction.submit(_namespace("a"))
    assert await code_of(late) == "NOT_CONTROLLER"
    assert _types(office) == ["BeginTransactionRecord", "EndTransactionRecord"]


async def test_a_log_that_fails_inside_leaves_nothing_and_is_put_in_order(office: Office) -> None:
    waiting: list[asyncio.Future[Any]] = []

    async def body() -> None:
        async with office.controller.transaction("import") as transaction:
            await transaction.submit(_namespace("a"))
            office.log.error = UnavailableError("the disk is full")
            waiting.append(office.namespace("x"))
            with pytest.raises(UnavailableError):
                await transaction.submit(_namespace("b"))
            office.log.error = None
            await office.controller.drained()
            await transaction.submit(_namespace("c"))

    with pytest.raises(RequestError) as caught:
        await body()
    assert caught.value.code == "NOT_CONTROLLER"
    await waiting[0]
    assert office.names() == ["x"]
    assert _types(office) == [
        "BeginTransactionRecord",
        "NamespaceRecord",
        "AbortTransactionRecord",
        "NamespaceRecord",
    ]


async def test_a_body_that_swallows_the_failure_does_not_end_in_peace(office: Office) -> None:
    async def body() -> None:
        async with office.controller.transaction("import") as transaction:
            office.log.error = UnavailableError("the disk is full")
            with pytest.raises(UnavailableError):
                await transaction.submit(_namespace("b"))
            await office.controller.drained()
            office.log.error = None

    with pytest.raises(RequestError, match="import is over") as caught:
        await body()
    assert caught.value.code == "NOT_CONTROLLER"


@pytest.mark.parametrize("error", [UnavailableError("the disk is full"), FencedError("epoch 2")])
async def test_failed_end_of_a_transaction_has_an_outcome(
    office: Office, error: MetadataLogError
) -> None:
    async def body() -> None:
        async with office.controller.transaction("import") as transaction:
            await transaction.submit(_namespace("a"))
            office.log.error = error

    with pytest.raises(type(error)) as caught:
        await body()
    assert caught.value.outcome is error.outcome
    await office.controller.drained()
    office.log.error = None
    assert office.names() == []


async def test_a_transaction_that_hangs_is_aborted_and_the_others_go_on(office: Office) -> None:
    office.controller.settings = Settings(cluster_id="test", transaction_timeout_ms=50)
    late: list[asyncio.Future[Any]] = []

    async def hang() -> None:
        async with office.controller.transaction("import") as transaction:
            await transaction.submit(_namespace("a"))
            waiting = [office.namespace("x"), office.namespace("y")]
            async with asyncio.timeout(5):
                await asyncio.gather(*waiting)
            late.append(transaction.submit(_namespace("b")))

    with pytest.raises(RequestError, match="open for more than 50 ms, and was aborted") as caught:
        await hang()
    assert caught.value.code == "REQUEST_TIMED_OUT"
    assert await code_of(late[0]) == "REQUEST_TIMED_OUT"
    assert office.names() == ["x", "y"]
    assert _types(office) == [
        "BeginTransactionRecord",
        "NamespaceRecord",
        "AbortTransactionRecord",
        "NamespaceRecord",
        "NamespaceRecord",
    ]
    abort = office.log.batches[3].records[0]
    assert abort == AbortTransactionRecord(reason="import was open for more than 50 ms")


async def test_the_next_transaction_has_its_own_time(office: Office) -> None:
    office.controller.settings = Settings(cluster_id="test", transaction_timeout_ms=200)
    for name in "abc":
        async with office.controller.transaction("import") as transaction:
            await transaction.submit(_namespace(name))
            await asyncio.sleep(0.08)
    assert office.names() == ["a", "b", "c"]


async def test_a_controller_that_is_not_active_opens_none() -> None:
    office = Office()
    with pytest.raises(RequestError, match="not active"):
        async with office.controller.transaction("import"):
            pytest.fail("the body must not run")


async def test_a_cluster_of_an_old_level_has_no_transactions() -> None:
    office = Office()
    await office.controller.activate({"metadata.version": 12})
    with pytest.raises(RequestError) as caught:
        async with office.controller.transaction("import"):
            pytest.fail("the body must not run")
    assert caught.value.code == "UNSUPPORTED_VERSION"
    assert len(office.log.batches) == 1


async def test_waiting_event_of_a_cancelled_caller_is_not_decided(office: Office) -> None:
    async with office.controller.transaction("import"):
        gone, stays = office.namespace("x"), office.controller.submit(nothing)
        gone.cancel()
    await stays
    assert office.names() == []


async def test_a_transaction_on_disk_replays_to_the_committed_image(tmp_path: Path) -> None:
    path = tmp_path / "log"
    create_log(path, "test")
    log = await MetadataLog.open(path)
    with LogReader.open(path) as reader:
        image = load_image(reader)
    controller = Controller(log, image, clock=Clock(), rng=Random(1))
    await controller.activate()
    async with controller.transaction("kept") as transaction:
        await transaction.submit(_namespace("a"))

    async def body() -> None:
        async with controller.transaction("dropped") as transaction:
            await transaction.submit(_namespace("b"))
            raise KeyError

    with pytest.raises(KeyError):
        await body()
    await controller.submit(_namespace("c"))
    await log.close()
    with LogReader.open(path) as reader:
        assert load_image(reader) == controller.image
    assert sorted(n.name for n in controller.image.namespaces()) == ["a", "c"]


async def test_waiting_for_a_failed_transaction_does_not_wait_for_its_body(
    office: Office,
) -> None:
    async def body() -> None:
        async with office.controller.transaction("import") as transaction:
            waiting = office.namespace("x")
            office.log.error = UnavailableError("the disk is full")
            with pytest.raises(UnavailableError):
                await transaction.submit(_namespace("b"))
            office.log.error = None
            async with asyncio.timeout(5):
                await waiting

    with pytest.raises(RequestError, match="import is over"):
        await body()
    assert office.names() == ["x"]


async def test_event_during_the_commit_of_the_end_does_not_overtake(office: Office) -> None:
    async def run() -> None:
        async with office.controller.transaction("import") as transaction:
            await transaction.submit(_namespace("a"))
            answers.append(office.namespace("x"))
            office.log.hold()

    answers: list[asyncio.Future[Any]] = []
    running = asyncio.create_task(run())
    while office.controller._pipeline.transaction is not None or not answers:
        await asyncio.sleep(0)
    answers.append(office.namespace("x"))
    office.log.release()
    await running
    await answers[0]
    assert await code_of(answers[1]) == "DUPLICATE_RESOURCE"
