"""The ISR changes that a leader proposes, and the records clients may read before the outcome."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from api.broker.disk import Disk
from api.broker.isr import keep_isr
from api.broker.log_directory import LogDirectory
from api.broker.replica import Replica, monotonic_ms
from api.broker.replicas import Replicas
from api.kafka.errors import CODES, NONE
from api.kafka.messages.brokers import (
    AlteredPartitionResult,
    AlteredTopic,
    AlteredTopicResult,
    AlterPartitionResponse,
)
from records.base import Uuid
from records.errors import MetadataLogError, Outcome, UnavailableError
from tests.api.broker.records import batch
from tests.api.broker.states import leader_and_isr, state, topic_states

ME, OTHER, DEAD = 1, 2, 3
ID = Uuid(b"1" * 16)
LAG_MS = 600_000


class Leader:
    """A leader of one partition, and a controller that answers its proposals in turn.

    Attributes:
        proposed: The proposed ISRs, in order.
        answers: The controller's answer to each proposal; the last one also answers all later ones.
    """

    def __init__(self, path: Path) -> None:
        directory = LogDirectory.open(path, cluster_id="c", broker_id=ME)
        self.replicas = Replicas(ME, [directory], Disk(256))
        self.proposed: list[tuple[int, ...]] = []
        self.answers: list[AlterPartitionResponse | MetadataLogError] = []
        self._more = asyncio.Event()
        self._looks = 0

    @property
    def replica(self) -> Replica:
        (replica,) = self.replicas
        return replica

    async def told(self, *isr: int, version: int) -> None:
        replicas = ME, OTHER, DEAD
        told = state(0, ME, leader_epoch=5, isr=isr, zk_version=version, replicas=replicas)
        await self.replicas.take_over(leader_and_isr(topic_states("a", ID, told)))

    async def alter(self, topics: tuple[AlteredTopic, ...]) -> AlterPartitionResponse:
        (partition,) = topics[0].partitions
        self.proposed.append(tuple(m.broker_id for m in partition.new_isr_with_epochs))
        self._more.set()
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, MetadataLogError):
            raise answer
        return answer

    async def settled(self, count: int) -> None:
        """Wait until the leader has handled the outcome of the first `count` proposals."""
        # The one after them is proposed only then.
        while len(self.proposed) <= count:
            self._more.clear()
            await self._more.wait()

    async def looked_at(self, times: int) -> None:
        """Wait until the leader has checked the ISR `times` more times."""
        # Each look asks whether a broker that has everything is live.
        self.replica.fetched_by(DEAD, self.replica.log.end_offset, monotonic_ms())
        until = self._looks + times
        while self._looks < until:
            self._more.clear()
            await self._more.wait()

    def _is_live(self, broker_id: int) -> bool:
        self._looks += 1
        self._more.set()
        return broker_id != DEAD

    @asynccontextmanager
    async def keeping_isr(self) -> AsyncIterator[None]:
        keeping = asyncio.create_task(
            keep_isr(self.replicas, self.alter, lag_ms_max=LAG_MS, is_live=self._is_live)
        )
        try:
            async with asyncio.timeout(60):
                yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)


def answered(error_code: int, *isr: int, version: int = 0) -> AlterPartitionResponse:
    result = AlteredPartitionResult(
        partition_index=0,
        error_code=error_code,
        leader_id=ME,
        leader_epoch=5,
        isr=isr,
        partition_epoch=version,
    )
    return AlterPartitionResponse(topics=(AlteredTopicResult(topic_id=ID, partitions=(result,)),))


@pytest_asyncio.fixture
async def leader(tmp_path: Path) -> Leader:
    leader = Leader(tmp_path)
    await leader.told(ME, version=0)
    return leader


UNKNOWN = UnavailableError("no answer", outcome=Outcome.UNKNOWN)
NOTHING = UnavailableError("no controller to ask")


@pytest.mark.parametrize(
    "answers",
    [[UNKNOWN], [UNKNOWN, NOTHING], [UNKNOWN, answered(CODES["INVALID_UPDATE_VERSION"])]],
    ids=["no answer", "no controller after that", "it was made before"],
)
async def test_follower_that_may_be_in_sync_counts_until_the_controller_has_spoken(
    leader: Leader, answers: list[AlterPartitionResponse | MetadataLogError]
) -> None:
    leader.answers = answers
    leader.replica.fetched_by(OTHER, 0, 0)
    async with leader.keeping_isr():
        await leader.settled(len(answers))
        await leader.replica.append(batch(b"acknowledged by both or by nobody"))
        assert leader.replica.high_watermark == 0
        # What it was told before says nothing new.
        await leader.told(ME, version=0)
        assert leader.replica.high_watermark == 0
        assert set(leader.proposed) == {(ME, OTHER)}
        await leader.told(ME, version=1)
        assert leader.replica.high_watermark == 1


@pytest.mark.parametrize("answer", [NOTHING, answered(CODES["INELIGIBLE_REPLICA"])])
async def test_follower_whose_proposal_was_not_made_does_not_count(
    leader: Leader, answer: AlterPartitionResponse | MetadataLogError
) -> None:
    leader.answers = [answer]
    leader.replica.fetched_by(OTHER, 0, 0)
    async with leader.keeping_isr():
        await leader.settled(1)
        leader.replica.stop()
        await leader.told(ME, version=0)
        await leader.replica.append(batch(b"a"))
        assert leader.replica.high_watermark == 1


async def test_proposal_that_was_made_is_in_force(leader: Leader) -> None:
    leader.answers = [UNKNOWN, answered(NONE, ME, OTHER, version=1)]
    leader.replica.fetched_by(OTHER, 0, 0)
    async with leader.keeping_isr():
        while leader.replica.pending_isr is not None or not leader.proposed:
            await asyncio.sleep(0.01)
        known = leader.replica.state
        assert known is not None and known.isr == (ME, OTHER)


@pytest.fixture
def set_wall_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    real = time.time_ns

    def set_ahead(seconds: int) -> None:
        monkeypatch.setattr(time, "time_ns", lambda: real() + seconds * 1_000_000_000)
        monkeypatch.setattr(time, "time", lambda: time.time_ns() / 1e9)

    return set_ahead


async def test_wall_clock_that_is_set_shrinks_no_isr(
    leader: Leader, set_wall_clock: Callable[[int], None]
) -> None:
    leader.answers = [NOTHING]
    await leader.told(ME, OTHER, version=1)
    await leader.replica.append(batch(b"a"))
    async with leader.keeping_isr():
        set_wall_clock(3_600)
        await leader.looked_at(2)
        assert leader.proposed == []
