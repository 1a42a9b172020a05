"""A follower applies committed batches once, answers from them, and refuses the rest."""

import random
from uuid import uuid4

import pytest

from controller.decisions.context.context import Context, Settings
from controller.follower import Follower
from controller.pipeline.latest import State
from controller.results.result import ControllerResult
from metadata_log.writer.clock import SystemClock
from records.base import Uuid
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.errors import RequestError
from records.topics import NamespaceRecord
from replay.image.metadata import MetadataImage
from tests.replay.builders import batch


def _count(context: Context) -> ControllerResult[int]:
    return ControllerResult(response=len(list(context.image.namespaces())))


def _name(name: str) -> NamespaceRecord:
    return NamespaceRecord(name=name, namespace_id=Uuid(uuid4().bytes))


def _follower(told: list[int]) -> Follower:
    return Follower(
        State.of(MetadataImage.EMPTY),
        clock=SystemClock(),
        rng=random.Random(1),
        settings=Settings(),
        on_commit=lambda batch: told.append(batch.base_offset),
    )


async def test_a_batch_is_followed_once_also_inside_a_transaction() -> None:
    told: list[int] = []
    follower = _follower(told)
    begin = batch(0, BeginTransactionRecord(name="t"), _name("a"))
    for each in (begin, begin, batch(2, _name("b")), begin):
        follower.follow(each)
    assert (await follower.ask(_count)).response == 0
    assert follower.image.provenance.next_offset == 0
    follower.follow(batch(3, EndTransactionRecord()))
    assert (await follower.ask(_count)).response == 2
    assert told == [0, 2, 3]


async def test_only_questions_are_answered() -> None:
    follower = _follower([])
    follower.follow(batch(0, _name("a")))
    answer = await follower.ask(_count)
    assert (answer.response, answer.end_offset, answer.wrote) == (1, 1, False)
    for refused in (follower.submit, follower.append, follower.heartbeat):
        with pytest.raises(RequestError) as caught:
            await refused(_count)
        assert caught.value.code == "NOT_CONTROLLER"
    assert not follower.is_active


async def test_a_question_that_fails_tells_its_caller() -> None:
    def refuse(context: Context) -> ControllerResult[int]:
        raise RequestError("UNKNOWN_TOPIC_OR_PARTITION", "there is none")

    with pytest.raises(RequestError, match="there is none"):
        await _follower([]).ask(refuse)
