"""The controller's timers."""

from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from controller import timers
from controller.decisions.brokers.heartbeats import Heartbeat
from controller.decisions.config_definitions.brokers import (
    DELETE_PARTITIONS_ENABLED,
    REMOVAL_INTERVAL,
)
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.context.context import Context
from controller.decisions.topics.partition_removal import (
    DeletePartitions,
    TopicShrink,
    delete_partitions,
)
from controller.decisions.topics.topics import CreateTopics, NewTopic, create_topics
from controller.raw_appends.raw_append import AppendRecords
from controller.results.result import ControllerResult
from controller.timers import TIMERS, Timers
from records.configs import ConfigRecord
from records.errors import FencedError, UnavailableError
from replay.image.partitions import NONE, READ_ONLY
from tests.controller.cluster import assigned
from tests.controller.office import Office

_FENCE, _REMOVE, _BALANCE = "fence stale broker", "advance removals", "balance leaders"


class _Cluster:
    """An active controller with two brokers, a topic, and timers."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.epochs: dict[int, int] = {}

    async def start(self) -> "_Cluster":
        for broker_id in (1, 2):
            self.epochs[broker_id] = await self.office.register(broker_id)
            await self.beat(broker_id)
        topic = NewTopic(name="orders", assignments=assigned([1, 2], [2, 1]))
        request = CreateTopics(topics=(topic,))
        await self.office.controller.submit(partial(create_topics, request=request))
        self.timers = Timers(self.office.controller, self.office.clock)
        return self

    async def beat(self, broker_id: int, want_fence: bool = False) -> None:
        request = Heartbeat(
            broker_id=broker_id,
            broker_epoch=self.epochs[broker_id],
            metadata_offset=self.office.log.end_offset,
            want_fence=want_fence,
        )
        await self.office.controller.heartbeat(request)

    async def pass_time(self, duration_ms: int) -> list[str]:
        self.office.clock.time_ms += duration_ms
        return await self.timers.run_due()

    def is_fenced(self, broker_id: int) -> bool:
        broker = self.office.controller.image.broker(broker_id)
        assert broker is not None
        return broker.fenced

    def mode(self, partition_id: int) -> int:
        image = self.office.controller.image
        topic = image.topic_by_full_name("orders")
        assert topic is not None
        return image.partitions(topic.topic_id)[partition_id].mode

    async def configure(self, **configs: str) -> None:
        changes = tuple([ConfigChange(name, value) for name, value in configs.items()])
        resource = ResourceChange(
            resource_type=BROKER, resource_name=CLUSTER_DEFAULT, changes=changes
        )
        request = AlterConfigs(resources=(resource,))
        answer = await self.office.controller.submit(partial(alter_configs, request=request))
        assert answer.response[0].refusal is None


@pytest.fixture
async def cluster(office: Office) -> _Cluster:
    return await _Cluster(office).start()


async def test_nothing_is_done_before_its_time(cluster: _Cluster) -> None:
    assert await cluster.pass_time(999) == []
    assert await cluster.pass_time(1) == [_FENCE]
    assert await cluster.pass_time(0) == []


async def test_silent_brokers_are_fenced_one_an_event(cluster: _Cluster) -> None:
    await cluster.pass_time(9_001)
    assert [cluster.is_fenced(1), cluster.is_fenced(2)] == [True, False]
    assert await cluster.pass_time(9) == []
    await cluster.pass_time(1)
    assert cluster.is_fenced(2)


async def test_others_have_a_tenth_of_the_time_of_long_decisions(
    cluster: _Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    fence = TIMERS[0]

    def slow(context: Context) -> ControllerResult[Any]:
        cluster.office.clock.time_ms += 2_000
        return fence.decide(context)

    monkeypatch.setattr(timers, "TIMERS", (replace(fence, decide=slow), *TIMERS[1:]))
    await cluster.pass_time(9_001)
    assert [cluster.is_fenced(1), cluster.is_fenced(2)] == [True, False]
    assert await cluster.pass_time(199) == []
    assert await cluster.pass_time(1) == [_FENCE]
    assert cluster.is_fenced(2)


async def test_broker_with_heartbeats_is_not_fenced(cluster: _Cluster) -> None:
    for _ in range(20):
        await cluster.pass_time(1_000)
        await cluster.beat(1)
    assert [cluster.is_fenced(1), cluster.is_fenced(2)] == [False, True]


async def test_leaders_go_back_to_their_preferred_replicas(cluster: _Cluster) -> None:
    await cluster.beat(1, want_fence=True)
    await cluster.beat(1)
    log = cluster.office.log
    before = len(log.batches)
    assert _BALANCE in await cluster.pass_time(300_000)
    reasons = {b.origin.command: b.origin.reason for b in log.batches[before:] if b.origin}
    # Nobody sent a heartbeat for five minutes.
    assert reasons[_FENCE] == "no heartbeat within the session timeout of 9000 ms"


async def test_removals_are_looked_at_as_often_as_the_config_says(cluster: _Cluster) -> None:
    await cluster.configure(**{DELETE_PARTITIONS_ENABLED: "true", REMOVAL_INTERVAL: "20000"})
    shrink = TopicShrink(topic="orders", partitions=1)
    request = DeletePartitions(topics=(shrink,), delay_ms=310_000)
    await cluster.office.controller.submit(partial(delete_partitions, request=request))
    assert _REMOVE in await cluster.pass_time(300_000)
    assert cluster.mode(1) == READ_ONLY
    assert _REMOVE not in await cluster.pass_time(19_999)
    assert _REMOVE in await cluster.pass_time(1)
    assert cluster.mode(1) == NONE


async def test_a_changed_interval_does_not_wait_out_the_one_that_has_begun(
    cluster: _Cluster,
) -> None:
    await cluster.configure(**{REMOVAL_INTERVAL: "100000"})
    assert _REMOVE not in await cluster.pass_time(30_000)
    await cluster.configure(**{REMOVAL_INTERVAL: "40000"})
    assert _REMOVE not in await cluster.pass_time(9_999)
    assert _REMOVE in await cluster.pass_time(1)
    await cluster.configure(**{REMOVAL_INTERVAL: "60000"})
    assert _REMOVE not in await cluster.pass_time(59_999)
    await cluster.configure(**{REMOVAL_INTERVAL: "20"})
    assert cluster.timers.next_due_ms <= cluster.office.clock.time_ms
    assert _REMOVE in await cluster.pass_time(0)


async def test_waiting_is_never_so_long_that_a_changed_interval_goes_unnoticed(
    cluster: _Cluster,
) -> None:
    cluster.office.log.error = UnavailableError("the disk is full")
    waits: list[int] = []

    async def sleep_ms(duration_ms: int) -> None:
        waits.append(duration_ms)
        cluster.office.clock.time_ms += duration_ms
        if len(waits) == 30:
            cluster.office.log.error = FencedError("epoch 2 has begun")
        await cluster.office.controller.drained()

    await cluster.timers.run(sleep_ms)
    assert len(waits) > 30
    assert max(waits) <= 1_000


async def test_a_pause_of_the_process_counts_against_no_session(cluster: _Cluster) -> None:
    clock = cluster.office.clock
    start_ms = clock.time_ms
    fenced: list[bool] = []

    async def sleep_ms(duration_ms: int) -> None:
        await cluster.office.controller.drained()
        if clock.time_ms < start_ms + 8_500:
            clock.time_ms += duration_ms
        elif not fenced:
            clock.time_ms += 60_000  # The process was stopped when the wait began.
            fenced.append(cluster.is_fenced(1))
        else:
            fenced.append(cluster.is_fenced(1))
            clock.time_ms += duration_ms
        if len(fenced) == 12:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await cluster.timers.run(sleep_ms)
    assert fenced[:2] == [False, False]
    assert fenced[-1], "the rest of the session's time counts"


async def test_an_interval_must_be_a_number(cluster: _Cluster) -> None:
    with pytest.raises(AssertionError, match=REMOVAL_INTERVAL):
        await cluster.configure(**{REMOVAL_INTERVAL: "often"})


@pytest.mark.parametrize("text", ["often", "9" * 5_000])
async def test_an_interval_that_is_no_number_all_the_same_is_the_usual_one(
    cluster: _Cluster, text: str
) -> None:
    controller = cluster.office.controller
    record = ConfigRecord(
        resource_type=BROKER, resource_name=CLUSTER_DEFAULT, name=REMOVAL_INTERVAL, value=text
    )
    await controller.append(AppendRecords(records=(record,)))
    assert _REMOVE in await cluster.pass_time(300_000)
    assert _REMOVE not in await cluster.pass_time(299_999)
    assert _REMOVE in await cluster.pass_time(1)


async def test_what_failed_is_tried_again_after_a_minute(cluster: _Cluster) -> None:
    cluster.office.log.error = UnavailableError("the disk is full")
    assert await cluster.pass_time(9_001) == [_FENCE]
    await cluster.office.controller.drained()
    cluster.office.log.error = None
    assert await cluster.pass_time(59_999) == []
    assert await cluster.pass_time(1) == [_FENCE]
    assert cluster.is_fenced(1)


async def test_a_timer_that_fails_by_a_mistake_leaves_the_others_running(
    cluster: _Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def mistake(_: Context) -> ControllerResult[None]:
        raise ValueError("a mistake")

    broken = replace(TIMERS[0], decide=mistake)
    monkeypatch.setattr(timers, "TIMERS", (broken, *TIMERS[1:]))
    assert _FENCE in await cluster.pass_time(300_000)
    assert "a mistake" in caplog.text
    assert await cluster.pass_time(59_999) == []
    assert await cluster.pass_time(1) == [_FENCE]


async def test_a_controller_that_resigned_does_nothing_on_its_own(cluster: _Cluster) -> None:
    cluster.office.log.error = FencedError("epoch 2 has begun")
    waits: list[int] = []

    async def sleep_ms(duration_ms: int) -> None:
        waits.append(duration_ms)
        cluster.office.clock.time_ms += 10_000
        await cluster.office.controller.drained()

    await cluster.timers.run(sleep_ms)
    assert cluster.office.controller.has_resigned
    assert waits
    assert await cluster.pass_time(600_000) == []
