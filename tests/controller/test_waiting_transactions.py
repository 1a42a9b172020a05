"""What waits for its turn and is no decision: transactions, `drained`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from controller.decisions.context.context import Settings
from records.base import Record
from records.control import AbortTransactionRecord, BeginTransactionRecord
from records.errors import Outcome, RequestError, UnavailableError
from tests.controller.office import Office, code_of, namespaces_in_turns, outcome_of


async def _turn() -> None:
    await asyncio.sleep(0)


def _written(office: Office) -> list[Record]:
    """Return the records after the log's first batch, which has the levels."""
    return [record for batch in office.log.batches[1:] for record in batch.records]


async def _begin_and_end(office: Office) -> None:
    async with office.controller.transaction("t"):
        pass


async def _drain(office: Office) -> None:
    await office.controller.drained()


@pytest.mark.parametrize("wait", [_begin_and_end, _drain])
async def test_decisions_in_a_row_hold_up_nobody(
    office: Office, wait: Callable[[Office], Coroutine[Any, Any, None]]
) -> None:
    """Three clients whose decisions take several turns are never without one in progress."""
    made: list[str] = []

    async def client(name: str) -> None:
        for number in range(5):
            names = [f"{name}{number}-{turn}" for turn in range(10)]
            await office.controller.submit(namespaces_in_turns(*names))
            made.append(name)

    clients = [asyncio.create_task(client(name)) for name in "abc"]
    await _turn()
    waiting = asyncio.create_task(wait(office))
    await _turn()
    later = office.namespace("z")
    await waiting
    assert len(made) <= 6  # of 15
    await later
    await asyncio.gather(*clients)


async def test_a_transaction_begins_between_those_before_and_after_it(office: Office) -> None:
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    before = office.namespace("c")
    task = asyncio.create_task(_begin_and_end(office))
    await _turn()
    after = office.namespace("d")
    await asyncio.gather(decision, before, task, after)
    names = [type(record).__name__ for record in _written(office)]
    assert names == [
        "BeginTransactionRecord",
        "NamespaceRecord",
        "NamespaceRecord",
        "EndTransactionRecord",
        "NamespaceRecord",
        "BeginTransactionRecord",
        "EndTransactionRecord",
        "NamespaceRecord",
    ]


async def test_a_second_transaction_begins_in_its_turn(office: Office) -> None:
    async with office.controller.transaction("t"):
        between = office.namespace("a")
        second = asyncio.create_task(_begin_and_end(office))
        await _turn()
        later = office.namespace("b")
    await asyncio.gather(between, second, later)
    records = _written(office)
    assert [type(record).__name__ for record in records] == [
        "BeginTransactionRecord",
        "EndTransactionRecord",
        "NamespaceRecord",
        "BeginTransactionRecord",
        "EndTransactionRecord",
        "NamespaceRecord",
    ]
    ends = [(await each).end_offset for each in (between, later)]
    assert ends == sorted(ends)


async def test_a_body_that_hangs_keeps_no_other_transaction_waiting(office: Office) -> None:
    office.controller.settings = Settings(cluster_id="test", transaction_timeout_ms=20)

    async def hang() -> None:
        async with office.controller.transaction("t"):
            async with asyncio.timeout(5):
                await asyncio.create_task(_begin_and_end(office))

    with pytest.raises(RequestError, match="open for more than 20 ms, and was aborted"):
        await hang()


async def test_a_failed_end_refuses_the_transaction_that_has_begun_behind_it(
    office: Office,
) -> None:
    async def first() -> None:
        async with office.controller.transaction("t"):
            tasks.append(asyncio.create_task(_begin_and_end(office)))
            await _turn()
            await office.controller.drained()
            office.log.error = UnavailableError("the disk is full")

    tasks: list[asyncio.Task[None]] = []
    with pytest.raises(UnavailableError, match="the disk is full"):
        await first()
    office.log.error = None
    with pytest.raises(UnavailableError) as caught:
        await tasks[0]
    assert caught.value.outcome is Outcome.NOTHING
    await _begin_and_end(office)
    await office.namespace("a")
    assert [type(record).__name__ for record in _written(office)] == [
        "BeginTransactionRecord",
        "AbortTransactionRecord",
        "BeginTransactionRecord",
        "EndTransactionRecord",
        "NamespaceRecord",
    ]


async def test_a_transaction_that_waits_may_be_cancelled(office: Office) -> None:
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    task = asyncio.create_task(_begin_and_end(office))
    await _turn()
    after = office.namespace("c")
    task.cancel()
    await asyncio.gather(decision, after)
    assert task.cancelled() and len(_written(office)) == 5


async def test_a_transaction_cancelled_as_it_begins_is_aborted(office: Office) -> None:
    async def run() -> None:
        async with office.controller.transaction("t"):
            pytest.fail("the body must not run")

    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    task = asyncio.create_task(run())
    await _turn()
    after = office.namespace("c")
    while office.controller._pipeline.transaction is None and not task.done():
        await _turn()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.gather(decision, after)
    begin, abort, _ = _written(office)[-3:]
    assert isinstance(begin, BeginTransactionRecord) and isinstance(abort, AbortTransactionRecord)


async def test_a_failure_refuses_no_transaction_that_waits(office: Office) -> None:
    office.log.hold()
    earlier = office.namespace("x")
    decision = office.controller.submit(namespaces_in_turns(*"abcdefgh"))
    task = asyncio.create_task(_begin_and_end(office))
    await _turn()
    after = office.namespace("x")
    office.log.error = UnavailableError("the disk is full")
    office.log.release()
    assert await outcome_of(earlier) == (UnavailableError, Outcome.NOTHING)
    office.log.error = None
    assert await code_of(decision) == "NOT_CONTROLLER"
    await task
    await after
    assert office.names() == ["x"]


async def test_a_controller_that_resigns_refuses_a_transaction_that_waits(office: Office) -> None:
    decision = office.controller.submit(namespaces_in_turns("a", "b"))
    task = asyncio.create_task(_begin_and_end(office))
    await _turn()
    office.controller.resign()
    assert await code_of(decision) == "NOT_CONTROLLER"
    with pytest.raises(RequestError, match="not active"):
        await task
