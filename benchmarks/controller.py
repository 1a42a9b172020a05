"""Costs of decisions, compared with the log's own append by the codec in Python, and by size of the
cluster.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.codecs import python_codec
from benchmarks.controller_cluster import CLUSTER_ID, DecidedCluster, registration
from benchmarks.harness import Result, milliseconds, rate
from controller.controller import Controller
from controller.decisions.brokers.heartbeats import Heartbeat
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.brokers.registrations import register_broker
from controller.decisions.context.context import Context, Settings
from controller.decisions.topics.topics import CreateTopics, NewTopic, TopicResult, create_topics
from controller.results.result import ControllerResult
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.clock import SystemClock
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.errors import RequestError
from replay.loader import load_image

_BROKERS = 12
_TOPICS, _PARTITIONS = 900, 10
_ROUNDS = 5
_CALLERS = 64
_CALLING_S = 2.0
_SMALL, _LARGE = 2_000, 2_000_000
_CHANGES = 2_000
_ZONE_SMALL, _ZONE_LARGE = 50_000, 100_000
_ZONES = 3


def run(scratch: Path) -> list[Result]:
    """Measure decisions on logs in the scratch directory and on clusters in memory."""
    return [
        *asyncio.run(_on_disk(scratch)),
        _one_change(),
        _zone_lost(),
    ]


async def _on_disk(scratch: Path) -> list[Result]:
    decided, plain = scratch / "decided", scratch / "plain"
    create_log(decided, CLUSTER_ID)
    create_log(plain, CLUSTER_ID)
    log, peer = await MetadataLog.open(decided), await MetadataLog.open(plain)
    try:
        controller = await _in_office(decided, log)
        return [
            await _many_topics(controller, peer),
            await _many_callers(controller),
        ]
    finally:
        await log.close()
        await peer.close()


async def _in_office(path: Path, log: MetadataLog) -> Controller:
    with LogReader.open(path) as reader:
        image = load_image(reader)
    settings = Settings(cluster_id=CLUSTER_ID, session_timeout_ms=3_600_000)
    controller = Controller(log, image, clock=SystemClock(), rng=Random(1), settings=settings)
    await controller.activate()
    for broker_id in range(_BROKERS):
        request = registration(broker_id, f"rack-{broker_id % _ZONES}")
        answer = await controller.submit(partial(register_broker, request=request))
        epoch = answer.response.broker_epoch
        beat = Heartbeat(broker_id=broker_id, broker_epoch=epoch, metadata_offset=log.end_offset)
        await controller.heartbeat(beat)
    return controller


async def _many_topics(controller: Controller, peer: MetadataLog) -> Result:
    """Compare one request that creates 9,900 records with the log's append of the same records."""
    await _check_limit(controller)
    ours, plain = [], []
    for round_ in range(_ROUNDS + 1):
        decided: list[tuple[Record, ...]] = []
        create = partial(_create, controller, f"round-{round_}", _TOPICS, decided)
        ours.append(await _seconds(create))
        (records,) = decided
        assert len(records) == _TOPICS * (_PARTITIONS + 1), len(records)
        with python_codec():
            plain.append(await _seconds(partial(peer.append, NewBatch(records=records))))
    del ours[0], plain[0]  # the first of each warms up
    count = _TOPICS * (_PARTITIONS + 1)
    return Result(
        name=f"create {_TOPICS} topics of {_PARTITIONS} / the log's append by the codec in Python",
        ours=rate(count, ours),
        peer=rate(count, plain),
        ratio=statistics.median(p / o for o, p in zip(ours, plain, strict=True)),
        target=0.4,
    )


async def _check_limit(controller: Controller) -> None:
    """Check that a request for 1,000 topics of 10 partitions is refused and appends nothing."""
    before = controller.image.provenance.next_offset
    code = None
    try:
        await _create(controller, "too-many", 1_000, [])
    except RequestError as error:
        code = error.code
    assert code == "POLICY_VIOLATION", code
    assert controller.image.provenance.next_offset == before


async def _many_callers(controller: Controller) -> Result:
    """Compare the topics created per second by 64 concurrent callers with those created by one."""
    one = await _topics_in(controller, "one", 1)
    many = await _topics_in(controller, "many", _CALLERS)
    return Result(
        name=f"topics created by {_CALLERS} callers / by one",
        ours=f"{many / _CALLING_S:,.0f}/s",
        peer=f"{one / _CALLING_S:,.0f}/s",
        ratio=many / one,
        target=10,
    )


async def _topics_in(controller: Controller, name: str, callers: int) -> int:
    """Return the number of topics that concurrent callers create in two seconds.

    Each caller waits for its answer before it sends its next request.
    """
    end = time.perf_counter() + _CALLING_S

    async def call(caller: int) -> int:
        created = 0
        while time.perf_counter() < end:
            topic = NewTopic(name=f"{name}-{caller}-{created}", partitions=1, replication_factor=3)
            request = CreateTopics(topics=(topic,))
            await controller.submit(partial(create_topics, request=request))
            created += 1
        return created

    return sum(await asyncio.gather(*(call(caller) for caller in range(callers))))


def _one_change() -> Result:
    """Compare the time of one ISR change in a large cluster with the same in a small one."""
    clusters = [_filled(_LARGE), _filled(_SMALL)]
    costs: list[list[float]] = [[], []]
    gc.collect()
    gc.freeze()
    try:
        for n in range(_CHANGES):
            for (cluster, topic_ids), times in zip(clusters, costs, strict=True):
                start = time.perf_counter()
                _shrink_isr(cluster, topic_ids[n * 997 % len(topic_ids)], n // len(topic_ids))
                times.append(time.perf_counter() - start)
    finally:
        gc.unfreeze()
    large, small = costs
    return Result(
        name=f"one change at {_LARGE:,} partitions / at {_SMALL:,}",
        ours=f"{statistics.median(large) * 1e6:,.0f} us",
        peer=f"{statistics.median(small) * 1e6:,.0f} us",
        ratio=statistics.median(large) / statistics.median(small),
        target=2,
        at_most=True,
    )


def _filled(partitions: int) -> tuple[DecidedCluster, list[Uuid]]:
    cluster = DecidedCluster()
    cluster.add_brokers(_BROKERS, racks=_ZONES)
    return cluster, cluster.fill(partitions, brokers=_BROKERS)


def _shrink_isr(cluster: DecidedCluster, topic_id: Uuid, partition_id: int) -> None:
    """Send AlterPartition from the leader: the ISR becomes the leader alone, or all replicas."""
    partition = cluster.image.partition(topic_id, partition_id % _PARTITIONS)
    assert partition is not None
    alone = len(partition.isr) > 1
    isr = (partition.leader,) if alone else partition.replicas
    broker = cluster.image.broker(partition.leader)
    assert broker is not None
    alteration = PartitionAlteration(
        topic_id=topic_id,
        partition_id=partition.partition_id,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=tuple([IsrMember(replica) for replica in isr]),
    )
    request = AlterPartition(
        broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, partitions=(alteration,)
    )
    (result,) = cluster.decide(partial(alter_partition, request=request))
    assert result.refusal is None, result.refusal


def _zone_lost() -> Result:
    """Fence a third of the brokers; the time per partition must not depend on the cluster's
    size.
    """
    large, small = [], []
    for _ in range(3):
        large.append(_lose_zone(_ZONE_LARGE))
        small.append(_lose_zone(_ZONE_SMALL))
    doubled = _ZONE_LARGE / _ZONE_SMALL
    return Result(
        name=f"a zone lost at {_ZONE_LARGE:,} partitions / at {_ZONE_SMALL:,}, times {doubled:g}",
        ours=milliseconds(large),
        peer=milliseconds(small),
        ratio=statistics.median(large) / statistics.median(small) / doubled,
        target=1.3,
        at_most=True,
    )


def _lose_zone(partitions: int) -> float:
    """Return the seconds it takes to fence every third broker, one after the other."""
    cluster, _ = _filled(partitions)
    gc.collect()
    start = time.perf_counter()
    for broker_id in range(0, _BROKERS, _ZONES):
        cluster.fence(broker_id)
    return time.perf_counter() - start


async def _create(
    controller: Controller, name: str, topics: int, decided: list[tuple[Record, ...]]
) -> None:
    """Create topics in one request, and append the decided records to `decided`."""
    request = CreateTopics(
        topics=tuple(
            [
                NewTopic(name=f"{name}-{n}", partitions=_PARTITIONS, replication_factor=3)
                for n in range(topics)
            ]
        )
    )

    def decide(context: Context) -> ControllerResult[tuple[TopicResult, ...]]:
        result = create_topics(context, request)
        decided.append(result.records)
        return result

    await controller.submit(decide)


async def _seconds(work: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start
