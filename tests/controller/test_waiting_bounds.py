"""The queue of waiting requests is bounded; further requests are refused with a retriable error."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.decisions.context.context import Context
from controller.raw_appends.raw_append import AppendRecords
from controller.results.answer import Answer
from controller.results.result import ControllerResult
from metadata_log.format.batch import AppendResult, NewBatch
from metadata_log.limits import PENDING_BATCHES_MAX
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.control import NoOpRecord
from records.errors import Outcome, UnavailableError
from tests.controller.office import Office, code_of, namespaces_in_turns, outcome_of

_NOTHING = NoOpRecord()
_MORE = 100


def _note(_: Context) -> ControllerResult[None]:
    return ControllerResult(response=None, records=(_NOTHING,))


def _submit(office: Office) -> asyncio.Future[Answer[Any]]:
    return office.controller.submit(_note)


def _append(office: Office) -> asyncio.Future[Answer[Any]]:
    return office.controller.append(AppendRecords(records=(_NOTHING,)))


both_ways = pytest.mark.parametrize("ask", [_submit, _append])
Ask = Callable[[Office], asyncio.Future[Answer[Any]]]


def _by_outcome(results: list[Any], outcome: type) -> list[Any]:
    return [result for result in results if isinstance(result, outcome)]


async def test_a_log_takes_so_many_batches_at_once_and_refuses_the_others(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "test")
    log = await MetadataLog.open(tmp_path / "log")
    start = log.end_offset
    batch = NewBatch(records=(_NOTHING,))
    asked = [log.append(batch) for _ in range(PENDING_BATCHES_MAX + _MORE)]
    assert all(answer.done() for answer in asked[PENDING_BATCHES_MAX:])
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert len(_by_outcome(results, AppendResult)) == PENDING_BATCHES_MAX
    assert len(_by_outcome(results, UnavailableError)) == _MORE
    assert (await log.append(batch)).base_offset == start + PENDING_BATCHES_MAX
    await log.close()
    with LogReader.open(tmp_path / "log") as reader:
        assert reader.end_offset == start + PENDING_BATCHES_MAX + 1


@both_ways
async def test_a_controller_keeps_so_many_batches_in_flight_and_refuses_the_others(
    office: Office, ask: Ask
) -> None:
    office.log.hold()
    asked = [ask(office) for _ in range(PENDING_BATCHES_MAX + _MORE)]
    await asyncio.sleep(0)  # appends are decided at the end of the turn
    refused = [answer for answer in asked if answer.done()]
    # Some places are kept for the brackets of a transaction.
    assert _MORE <= len(refused) <= _MORE + 10
    assert refused == asked[-len(refused) :]
    office.log.release()
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert len(_by_outcome(results, UnavailableError)) == len(refused)
    assert len(_by_outcome(results, Answer)) == len(asked) - len(refused)
    await office.controller.submit(_note)


@both_ways
async def test_so_many_requests_wait_for_a_transaction_and_the_others_are_refused(
    office: Office, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    bound = 50
    monkeypatch.setattr("controller.deferred_events.PENDING_BATCHES_MAX", bound)
    async with office.controller.transaction("import"):
        asked = [ask(office) for _ in range(bound + _MORE)]
        assert [answer.done() for answer in asked] == [False] * bound + [True] * _MORE
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert len(_by_outcome(results, UnavailableError)) == _MORE
    assert len(_by_outcome(results, Answer)) == bound


@both_ways
async def test_after_a_failure_a_full_queue_is_worked_off_before_it_refuses(
    office: Office, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    """A newcomer may come before the requests that waited for the failed decision."""
    bound = 3
    monkeypatch.setattr("controller.deferred_events.PENDING_BATCHES_MAX", bound)
    office.log.hold()
    earlier = office.namespace("x")
    in_turns = office.controller.submit(namespaces_in_turns(*"abcdefgh"))
    asked = [ask(office) for _ in range(bound)]

    def come(_: object) -> None:
        office.log.error = None
        asked.append(ask(office))

    earlier.add_done_callback(come)
    office.log.error = UnavailableError("the disk is full")
    office.log.release()
    assert await outcome_of(earlier) == (UnavailableError, Outcome.NOTHING)
    assert await code_of(in_turns) == "NOT_CONTROLLER"
    ends = [(await each).end_offset for each in asked]
    assert ends == sorted(set(ends)) and len(ends) == bound + 1
