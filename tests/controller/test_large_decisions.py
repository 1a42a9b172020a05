"""A decision with many records is made in one turn of the event loop and sent in a later one."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from controller import controller as controllers
from controller.decisions.context.context import Context
from controller.raw_appends.raw_append import AppendRecords
from controller.results.answer import Answer
from controller.results.result import ControllerResult
from records.base import Uuid
from records.control import NoOpRecord
from records.errors import RequestError, UnavailableError
from records.topics import NamespaceRecord
from tests.controller.office import Office, code_of, outcome_of

LARGE = controllers.LARGE_DECISION


def _many(context: Context) -> ControllerResult[int]:
    return ControllerResult(response=context.next_offset, records=(NoOpRecord(),) * LARGE)


def _sizes(office: Office) -> list[int]:
    """Return the sizes of the batches after the log's first one, which has the levels."""
    return [len(batch.records) for batch in office.log.batches[1:]]


async def _turn() -> None:
    await asyncio.sleep(0)


async def test_it_is_sent_in_the_turn_after_its_own(office: Office) -> None:
    before = office.log.end_offset
    made: list[int] = []

    def decide(context: Context) -> ControllerResult[int]:
        made.append(context.next_offset)
        return _many(context)

    answer = office.controller.submit(decide)
    assert made == [office.log.end_offset]
    assert _sizes(office) == []
    assert (await answer).response == made[0]
    assert _sizes(office) == [LARGE]
    assert office.controller.image.provenance.offset == before + LARGE - 1


async def test_the_next_decision_sees_it(office: Office) -> None:
    first, second = office.controller.submit(_many), office.controller.submit(_many)
    third = office.namespace("a")
    found = [(await each).response for each in (first, second)]
    assert found[1] == found[0] + LARGE
    await third
    assert _sizes(office) == [LARGE, LARGE, 1]


async def test_appends_of_its_turn_keep_their_places(office: Office) -> None:
    append = AppendRecords(records=(NoOpRecord(),))
    before = office.controller.append(append)
    large = office.controller.submit(_many)
    after = office.controller.append(append)
    offsets = [(await each).end_offset for each in (before, large, after)]
    assert offsets == sorted(offsets)
    assert _sizes(office) == [1, LARGE, 1]


async def test_a_transaction_begins_behind_it(office: Office) -> None:
    large = office.controller.submit(_many)
    async with office.controller.transaction("t") as transaction:
        inside = transaction.submit(_many)
    await asyncio.gather(large, inside)
    assert _sizes(office) == [LARGE, 1, LARGE, 1]


async def test_what_waits_for_a_transaction_is_decided_in_order(office: Office) -> None:
    async with office.controller.transaction("t"):
        waiting = [office.controller.submit(_many), office.controller.submit(_many)]
        last = office.namespace("a")
    first, second = [(await each).response for each in waiting]
    assert second == first + LARGE
    await last
    assert office.names() == ["a"]


@pytest.mark.parametrize("turns", range(4))
async def test_an_earlier_batch_that_fails_refuses_it(office: Office, turns: int) -> None:
    """Whenever it is decided, before the failure is known, or while it is being settled."""
    office.log.hold()
    earlier = office.namespace("a")
    await _turn()
    office.log.error = UnavailableError("the disk is full")
    office.log.release()
    for _ in range(turns):
        await _turn()
    large = office.controller.submit(_many)
    with pytest.raises(UnavailableError):
        await earlier
    office.log.error = None
    if turns < 2:
        await outcome_of(large)
        assert _sizes(office) == []
    answer = await office.controller.submit(_many)
    assert answer.end_offset == office.log.end_offset


async def test_nobody_asks_for_it_any_more(office: Office) -> None:
    large = office.controller.submit(_many)
    large.cancel()
    await office.namespace("a")
    assert _sizes(office) == [1]


async def test_a_refusal_after_it_waits_for_it(office: Office) -> None:
    def refuse(_: Context) -> ControllerResult[None]:
        raise RequestError("INVALID_REQUEST", "no")

    office.log.hold()
    large, refused = office.controller.submit(_many), office.controller.submit(refuse)
    for _ in range(5):
        await _turn()
    assert not refused.done()
    office.log.release()
    assert await code_of(refused) == "INVALID_REQUEST"
    assert large.done()


@pytest.mark.parametrize("seed", range(20))
async def test_any_mixture_writes_what_it_writes_in_single_turns(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests of any size, in any turns, with failures, leave the log that they leave unsplit."""
    found = []
    for large in (2, 1_000_000):
        monkeypatch.setattr(controllers, "LARGE_DECISION", large)
        found.append(await _mixture(Random(seed)))
    assert found[0] == found[1]


async def _mixture(random: Random) -> tuple[list[int], list[str], list[int | str]]:
    office = Office()
    await office.controller.activate()
    futures: list[asyncio.Future[Answer[Any]]] = []
    for number in range(60):
        futures.append(_step(office, random, number))
        if random.random() < 0.4:
            await _turn()
        if random.random() < 0.1:
            await office.controller.drained()
    answers = await asyncio.gather(*futures, return_exceptions=True)
    shown = [each.end_offset if isinstance(each, Answer) else str(each) for each in answers]
    return [len(batch.records) for batch in office.log.batches], office.names(), shown


def _step(office: Office, random: Random, number: int) -> asyncio.Future[Answer[Any]]:
    names = [f"n{number % 20}-{index}" for index in range(random.choice((1, 1, 2, 5)))]

    def namespaces(context: Context) -> ControllerResult[None]:
        taken = {namespace.name for namespace in context.image.namespaces()}
        if taken & set(names):
            raise RequestError("INVALID_REQUEST", f"{names} are taken")
        made = [_namespace(context, name) for name in names]
        return ControllerResult(response=None, records=tuple(made))

    steps: list[Callable[[], asyncio.Future[Answer[Any]]]] = [
        lambda: office.controller.submit(namespaces),
        lambda: office.controller.append(AppendRecords(records=(NoOpRecord(),))),
        lambda: office.controller.submit(_nothing),
    ]
    return random.choice(steps)()


def _nothing(context: Context) -> ControllerResult[int]:
    return ControllerResult(response=context.next_offset)


def _namespace(context: Context, name: str) -> NamespaceRecord:
    return NamespaceRecord(name=name, namespace_id=Uuid(context.rng.randbytes(16)))
