"""A follower applies committed batches once, answers from them, and refuses the rest."""

import asyncio
import random
from uuid import uuid4

import pytest

from controller.decisions.context import cluster_index
from controller.decisions.context.cluster_index import ClusterIndex
from controller.decisions.context.context import Context, Settings
from controller.follower import Follower
from controller.pipeline.latest import State
from controller.results.result import ControllerResult
from metadata_log.writer.clock import SystemClock
from records.base import Uuid
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.errors import Outcome, RequestError
from records.partitions import PartitionChangeRecord
from records.topics import NamespaceRecord
from replay.image.metadata import MetadataImage
from tests.controller.cluster import Cluster
from tests.replay.builders import batch


def _count(context: Context) -> ControllerResult[int]:
    return ControllerResult(response=len(list(context.image.namespaces())))


def _name(name: str) -> NamespaceRecord:
    return NamespaceRecord(name=name, namespace_id=Uuid(uuid4().bytes))


def _follower(told: list[int], state: State | None = None) -> Follower:
    return Follower(
        state or State.of(MetadataImage.EMPTY),
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


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> MetadataImage:
    """An image whose index takes a turn for each of its topics."""
    monkeypatch.setattr(cluster_index, "_PARTITIONS_IN_TURN", 1)
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    for number in range(10):
        cluster.create(f"t{number}", [1, 2], [2, 1])
    return cluster.image


def _led(context: Context) -> ControllerResult[dict[int, int]]:
    return ControllerResult(response=dict(context.index.leader_counts(context.image)))


async def test_questions_that_read_an_index_that_is_being_made_wait(topics: MetadataImage) -> None:
    follower = _follower([], State.loaded(topics))
    making = asyncio.ensure_future(follower.make_index())
    await asyncio.sleep(0)
    first, left = follower.ask(_led), follower.ask(_led)
    left.cancel()
    assert follower.ask(_count).done() and not first.done()
    await making
    assert first.done() and (await first).response == {1: 10, 2: 10}
    assert follower.ask(_led).done()


async def test_an_index_whose_making_is_cancelled_is_made_for_nobody(
    topics: MetadataImage,
) -> None:
    follower = _follower([], State.loaded(topics))
    making = asyncio.ensure_future(follower.make_index())
    await asyncio.sleep(0)
    waiting = follower.ask(_led)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert waiting.done() and not follower.state.lazy_index.is_made
    with pytest.raises(RequestError) as caught:
        await waiting
    assert (caught.value.code, caught.value.outcome) == ("NOT_CONTROLLER", Outcome.NOTHING)
    assert (await follower.ask(_led)).response == {1: 10, 2: 10}


@pytest.mark.parametrize("turns", [1, 1_000])
async def test_the_index_is_that_of_the_state_whenever_a_batch_comes(
    topics: MetadataImage, turns: int
) -> None:
    follower = _follower([], State.loaded(topics))
    making = asyncio.ensure_future(follower.make_index())
    for _ in range(turns):
        await asyncio.sleep(0)
    topic_id = next(topics.topics()).topic_id
    change = PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=2)
    follower.follow(
        batch(topics.provenance.next_offset, change, timestamp=topics.provenance.timestamp)
    )
    await making
    assert (await follower.ask(_led)).response == {1: 9, 2: 11}
    assert follower.state.index == ClusterIndex.of(follower.image)
