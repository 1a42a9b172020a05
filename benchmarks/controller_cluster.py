"""A cluster of any size, in memory and without a log: each decision is applied immediately."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import TypeVar

from benchmarks.new_partition import new_partition
from controller.decisions.brokers.heartbeats import Heartbeat, heartbeat
from controller.decisions.brokers.registrations import RegisterBroker, register_broker
from controller.decisions.context.context import Context, Settings
from controller.decisions.context.sessions import Sessions
from controller.decisions.features.levels_in_use import bootstrap_records
from controller.decisions.ids import new_id
from controller.decisions.levels import NEW_CLUSTER_LEVELS, SUPPORTED_LEVELS, record_version
from controller.pipeline.latest import Latest, State
from controller.results.result import ControllerResult
from metadata_log.format.batch import Batch
from metadata_log.limits import BATCH_RECORDS_MAX
from records.base import Record, Uuid
from records.brokers import BrokerFeature
from records.envelope import Envelope
from records.topics import TopicRecord
from replay.image.metadata import MetadataImage

T = TypeVar("T")

CLUSTER_ID = "benchmark"
TIME_MS = 1_700_000_000_000

FEATURES = tuple(
    [
        BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
        for name, (low, high) in SUPPORTED_LEVELS.items()
    ]
)


def registration(broker_id: int, rack: str | None = None) -> RegisterBroker:
    """Return a broker's registration request; its random ids depend only on the broker id."""
    rng = Random(broker_id)
    return RegisterBroker(
        broker_id=broker_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=new_id(rng),
        features=FEATURES,
        rack=rack,
        log_dirs=(new_id(rng),),
    )


class DecidedCluster:
    """Takes decisions on its current image and applies their records to it."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings(cluster_id=CLUSTER_ID)
        self._rng = Random(1)
        self._latest = Latest(State.of(MetadataImage.EMPTY), 0)
        self._sessions = Sessions(timeout_ms=self._settings.session_timeout_ms)
        self.write(bootstrap_records(NEW_CLUSTER_LEVELS))

    @property
    def image(self) -> MetadataImage:
        """The current image."""
        return self._latest.state.image

    def decide(self, decision: Callable[[Context], ControllerResult[T]]) -> T:
        """Run a decision and apply its records as the controller would: batch by batch.

        Returns the decision's response.
        """
        result = decision(
            Context(
                image=self.image,
                lazy_index=self._latest.state.lazy_index,
                sessions=self._sessions,
                settings=self._settings,
                rng=self._rng,
                now_ms=TIME_MS,
                next_offset=self._latest.next_offset,
            )
        )
        for start in range(0, len(result.records), BATCH_RECORDS_MAX):
            self.write(result.records[start : start + BATCH_RECORDS_MAX])
        return result.response

    def write(self, records: Sequence[Record]) -> None:
        """Apply records as one batch."""
        base = self._latest.next_offset
        level = self.image.feature("metadata.version") or 1
        rows = [
            Envelope(
                offset=offset,
                leader_epoch=1,
                timestamp=TIME_MS,
                batch_offset=base,
                record_version=record_version(record, level),
                payload=record,
            )
            for offset, record in enumerate(records, base)
        ]
        self._latest.apply(Batch.of(rows))
        self._sessions = self._sessions.replayed(records, base_offset=base, now_ms=TIME_MS)

    def add_brokers(self, count: int, *, racks: int = 0) -> None:
        """Register and unfence `count` more brokers; broker n is in rack n mod `racks`."""
        first = sum(1 for _ in self.image.brokers())
        for broker_id in range(first, first + count):
            rack = f"rack-{broker_id % racks}" if racks else None
            request = registration(broker_id, rack)
            epoch = self.decide(partial(register_broker, request=request)).broker_epoch
            self.beat(broker_id, epoch)

    def beat(self, broker_id: int, epoch: int, *, want_fence: bool = False) -> None:
        """Send a heartbeat from a broker that has applied the whole log."""
        request = Heartbeat(
            broker_id=broker_id,
            broker_epoch=epoch,
            metadata_offset=self._latest.next_offset,
            want_fence=want_fence,
        )
        self.decide(partial(heartbeat, request=request))

    def fence(self, broker_id: int) -> None:
        """Fence a broker by a heartbeat that asks for it."""
        broker = self.image.broker(broker_id)
        assert broker is not None
        self.beat(broker_id, broker.broker_epoch, want_fence=True)

    def fill(self, partitions: int, *, brokers: int, in_topic: int = 10) -> list[Uuid]:
        """Add topics of `in_topic` partitions with 3 replicas each; return the topic ids.

        `partitions` is the total number of partitions. Replicas are spread evenly over the brokers.
        """
        topic_ids = []
        records: list[Record] = []
        for n in range(partitions // in_topic):
            topic_id = new_id(self._rng)
            topic_ids.append(topic_id)
            records.append(TopicRecord(name=f"topic.{n}", topic_id=topic_id))
            for partition_id in range(in_topic):
                first = n * in_topic + partition_id
                replicas = tuple([(first + k) % brokers for k in range(3)])
                records.append(new_partition(topic_id, partition_id, replicas))
            if len(records) > BATCH_RECORDS_MAX - in_topic - 1:
                self.write(records)
                records = []
        if records:
            self.write(records)
        return topic_ids
