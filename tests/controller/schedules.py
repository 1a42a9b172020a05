"""Random fault schedules: commands while brokers fail, restart or are cut off, and clocks jump.

All invariants are checked after every batch. At the end all faults are repaired, and everything in
progress must complete: removals and moves finish, and every partition that can have a leader has
one. A schedule is a seed and a number of operations; each operation has its own random source, so
that some can be left out without changing the others.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from controller.decider import Decision
from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.brokers.heartbeats import fence_stale_broker
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.brokers.registrations import unregister_broker
from controller.decisions.configs.changes import (
    AlterConfigs,
    ConfigChange,
    ResourceChange,
    alter_configs,
)
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.features.levels_in_use import (
    FeatureUpdate,
    UpdateFeatures,
    UpgradeType,
    update_features,
)
from controller.decisions.levels import ELR_FEATURE
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    MoveTopics,
    create_namespace,
    delete_namespace,
    move_topics,
)
from controller.decisions.partitions.elections import (
    ElectLeaders,
    balance_leaders,
    elect_leaders,
    elect_unclean_leaders,
)
from controller.decisions.partitions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    alter_reassignments,
)
from controller.decisions.partitions.replica_states import DELETION_STARTED
from controller.decisions.topics.alterations import AlterTopics, TopicAlteration, alter_topics
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
    advance_removals,
    cancel_delete_partitions,
    delete_partitions,
)
from controller.decisions.topics.topics import (
    CreateTopics,
    DeleteTopics,
    NewTopic,
    create_topics,
    delete_topics,
)
from controller.placement.registry import PLACERS
from records.base import Record
from records.configs import ConfigRecord
from records.errors import RequestError
from replay.image.partitions import NO_LEADER, NONE, Partition
from tests.controller.cluster import Cluster
from tests.controller.plain_invariants import HistoryCheck, check_image

_BROKERS = 5
_TOPICS = 6
_NAMESPACES = ("", "a", "a:b", "c")
_JUMPS_MS = (1, 500, 3_000, 9_001, 60_000, 3_600_000, -5_000)
_HEALING_ROUNDS = 200


class _Cluster(Cluster):
    """A cluster that checks the invariants after every batch; brokers leave in small steps."""

    step_max = 2

    def __init__(self) -> None:
        self._check = HistoryCheck()
        super().__init__()

    def write(self, records: Sequence[Record]) -> None:
        before = len(self.steps)
        super().write(records)
        for batch, image in self.steps[before:]:
            self.problems.extend(
                f"offset {batch.end_offset - 1}: {violation}"
                for violation in self._check.step(batch, image)
            )


class Schedule:
    """One run of a schedule. `problems` lists the violations that were found."""

    def __init__(self, seed: int, cluster: Cluster | None = None) -> None:
        """Use a cluster; by default one that checks every batch."""
        self._seed = seed
        self._cluster = cluster or _Cluster()
        self._clock_ms = self._cluster.now_ms
        # Brokers whose process runs, and those of them that the controller does not hear.
        self._running: set[int] = set()
        self._cut_off: set[int] = set()
        self._cluster.write(
            [
                ConfigRecord(
                    resource_type=4, resource_name="", name=DELETE_PARTITIONS_ENABLED, value="true"
                )
            ]
        )
        for broker_id in range(1, _BROKERS + 1):
            self._start(broker_id)

    @property
    def problems(self) -> list[str]:
        """The violations found so far."""
        return self._cluster.problems

    def run(self, operations: Sequence[int]) -> list[str]:
        """Run the operations with these numbers, then repair all faults; return the problems."""
        for number in operations:
            rng = Random(f"{self._seed}/{number}")
            (operation,) = rng.choices(
                [made for _, made in _OPERATIONS], [weight for weight, _ in _OPERATIONS]
            )
            try:
                operation(self, rng)
            except RequestError:
                continue  # refused as a whole
            if self.problems:
                return self.problems
        self._heal()
        return self.problems

    # Brokers and the clock.

    def _start(self, broker_id: int, *, cleanly: bool = False) -> None:
        """Start the process of a broker; `cleanly`: its last process was shut down cleanly."""
        before = self._cluster.image.broker(broker_id)
        ended_with = before.broker_epoch if cleanly and before is not None else -1
        self._running.add(broker_id)
        self._cluster.register(
            broker_id, rack=f"rack-{broker_id % 3}", previous_broker_epoch=ended_with
        )
        self._cluster.heartbeat(broker_id)

    def _broker(self, rng: Random) -> None:
        """A broker crashes, starts, is cut off, is connected again, or asks to shut down."""
        broker_id = rng.randrange(1, _BROKERS + 1)
        if broker_id not in self._running:
            self._start(broker_id, cleanly=rng.random() < 0.5)
        elif rng.random() < 0.4:
            self._running.discard(broker_id)
            self._cut_off.discard(broker_id)
        elif rng.random() < 0.4:
            self._cluster.heartbeat(broker_id, want_shutdown=True)
        elif rng.random() < 0.2:
            self._cluster.heartbeat(broker_id, want_shutdown=True, steps_max=1)
            self._cluster.fail_over()
        else:
            self._cut_off ^= {broker_id}

    def _unregister(self, rng: Random) -> None:
        broker_id = rng.randrange(1, _BROKERS + 1)
        self._running.discard(broker_id)
        self._cut_off.discard(broker_id)
        self._cluster.do(unregister_broker, broker_id)

    def _time(self, rng: Random) -> None:
        """The clock jumps, sometimes back; connected brokers send heartbeats."""
        self._clock_ms += rng.choice(_JUMPS_MS)
        # The loop never decides at a time before that of the last batch.
        self._cluster.now_ms = max(self._cluster.now_ms, self._clock_ms)
        for broker_id in self._heard():
            offset = self._cluster.next_offset - 1 - rng.choice((0, 0, 0, 5))
            self._cluster.heartbeat(broker_id, metadata_offset=offset)

    def _timers(self, rng: Random) -> None:
        timers: tuple[Decision[Any], ...] = (
            fence_stale_broker,
            fence_stale_broker,
            advance_removals,
            advance_removals,
            balance_leaders,
            elect_unclean_leaders,
        )
        timer, fails = rng.choice(timers), rng.random() < 0.2
        self._cluster.decide(timer, steps_max=1 if fails else None)
        if fails:
            self._cluster.fail_over()

    def _fail_over(self, rng: Random) -> None:
        self._cluster.fail_over()

    def _rules(self, rng: Random) -> None:
        """Turn unclean leader election, or the feature of eligible leader replicas, on or off."""
        if rng.random() < 0.5:
            value = rng.choice(("true", "false"))
            change = ConfigChange("unclean.leader.election.enable", value)
            resource = ResourceChange(
                resource_type=BROKER, resource_name=CLUSTER_DEFAULT, changes=(change,)
            )
            self._cluster.do(alter_configs, AlterConfigs(resources=(resource,)))
        else:
            is_on = bool(self._cluster.image.feature(ELR_FEATURE))
            kind = UpgradeType.SAFE_DOWNGRADE if is_on else UpgradeType.UPGRADE
            update = FeatureUpdate(name=ELR_FEATURE, level=1 - is_on, upgrade_type=kind)
            self._cluster.do(update_features, UpdateFeatures(updates=(update,)))

    def _heard(self) -> list[int]:
        image = self._cluster.image
        return [b for b in sorted(self._running - self._cut_off) if image.broker(b) is not None]

    # What brokers do for their partitions.

    def _isr(self, rng: Random) -> None:
        """A leader removes a follower from the ISR, adds one, or reports that it has recovered."""
        led = [p for p in self._partitions() if p.leader in self._heard()]
        if led:
            partition = rng.choice(led)
            others = [r for r in partition.replicas if r != partition.leader]
            kept = [r for r in others if rng.random() < 0.7 and r in self._heard()]
            self._alter(partition, [partition.leader, *kept])

    def _late_isr(self, rng: Random) -> None:
        """A delayed ISR change of a leader that was cut off arrives."""
        _, image = rng.choice(self._cluster.steps)
        topics = sorted(image.topics(), key=lambda topic: topic.topic_id)
        led = [
            p
            for topic in topics
            for p in image.partitions(topic.topic_id)
            if p.leader in self._running and self._cluster.image.broker(p.leader) is not None
        ]
        if led:
            partition = rng.choice(led)
            kept = [r for r in partition.replicas if rng.random() < 0.5]
            self._alter(partition, [partition.leader, *(r for r in kept if r != partition.leader)])

    def _alter(self, partition: Partition, isr: Sequence[int]) -> None:
        alteration = PartitionAlteration(
            topic_id=partition.topic_id,
            partition_id=partition.partition_id,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr=tuple([IsrMember(replica) for replica in isr]),
        )
        request = AlterPartition(
            broker_id=partition.leader,
            broker_epoch=self._cluster.broker(partition.leader).broker_epoch,
            partitions=(alteration,),
        )
        self._cluster.do(alter_partition, request)

    def _report(self, rng: Random) -> None:
        """A broker reports the results of replica deletions, sometimes twice, sometimes of none."""
        for broker_id in self._heard():
            if rng.random() < 0.6:
                self._report_of(broker_id, lambda: rng.random() < 0.8)

    def _report_of(self, broker_id: int, deleted: Callable[[], bool]) -> None:
        started = [
            ReplicaReport(topic_id=d.topic_id, partition_id=d.partition_id, deleted=deleted())
            for d in self._cluster.image.replica_deletions()
            if d.broker_id == broker_id and d.state == DELETION_STARTED
        ]
        request = ReportDeletions(
            broker_id=broker_id,
            broker_epoch=self._cluster.broker(broker_id).broker_epoch,
            replicas=tuple(sorted(started, key=lambda r: (r.topic_id, r.partition_id))),
        )
        self._cluster.do(report_deletions, request)

    # What people ask for.

    def _create(self, rng: Random) -> None:
        topic = NewTopic(
            name=_name(rng),
            namespace=rng.choice(_NAMESPACES),
            partitions=rng.randrange(1, 5),
            replication_factor=rng.randrange(1, 4),
        )
        placement = rng.choice(list(PLACERS))
        request = CreateTopics(topics=(topic,), placement=placement)
        self._cluster.do(create_topics, request)

    def _delete(self, rng: Random) -> None:
        self._cluster.do(delete_topics, DeleteTopics(topics=(self._topic(rng),)))

    def _grow(self, rng: Random) -> None:
        growth = TopicGrowth(topic=self._topic(rng), partitions=rng.randrange(2, 8))
        self._cluster.do(create_partitions, CreatePartitions(topics=(growth,)))

    def _shrink(self, rng: Random) -> None:
        shrink = TopicShrink(topic=self._topic(rng), partitions=rng.randrange(1, 4))
        delay_ms = rng.choice((0, 1_000, 3_600_000))
        request = DeletePartitions(topics=(shrink,), delay_ms=delay_ms)
        self._cluster.do(delete_partitions, request)

    def _cancel_shrink(self, rng: Random) -> None:
        self._cluster.do(cancel_delete_partitions, self._topic(rng))

    def _move(self, rng: Random) -> None:
        """Two partitions of a topic are moved, or their moves are cancelled."""
        topic = self._topic(rng)
        targets = []
        for partition_id in (0, 1):
            ids = tuple(rng.sample(range(1, _BROKERS + 1), rng.randrange(1, 4)))
            broker_ids = None if rng.random() < 0.3 else ids
            targets.append(
                PartitionTarget(topic=topic, partition_id=partition_id, broker_ids=broker_ids)
            )
        self._cluster.do(alter_reassignments, AlterReassignments(partitions=tuple(targets)))

    def _replication(self, rng: Random) -> None:
        """A topic gets another number of replicas."""
        alteration = TopicAlteration(
            topic=self._topic(rng), replication_factor=rng.randrange(1, _BROKERS)
        )
        self._cluster.do(alter_topics, AlterTopics(topics=(alteration,)))

    def _elect(self, rng: Random) -> None:
        self._cluster.do(elect_leaders, ElectLeaders(unclean=rng.random() < 0.5))

    def _namespace(self, rng: Random) -> None:
        name = rng.choice(_NAMESPACES[1:])
        match rng.randrange(3):
            case 0:
                self._cluster.do(create_namespace, CreateNamespace(name))
            case 1:
                request = DeleteNamespace(name=name, recursive=rng.random() < 0.5)
                self._cluster.do(delete_namespace, request)
            case _:
                move = MoveTopics(from_namespace=name, to_namespace=rng.choice(_NAMESPACES))
                self._cluster.do(move_topics, move)

    def _topic(self, rng: Random) -> str:
        image = self._cluster.image
        names = sorted(image.full_name(topic) for topic in image.topics())
        return rng.choice(names) if names else _name(rng)

    def _partitions(self) -> list[Partition]:
        image = self._cluster.image
        topics = sorted(image.topics(), key=lambda topic: topic.topic_id)
        return [p for topic in topics for p in image.partitions(topic.topic_id)]

    # The end.

    def _heal(self) -> None:
        """Start and connect all brokers, let followers catch up, and wait for everything in
        progress.
        """
        self._cluster.now_ms += 3_600_001
        self._cluster.decide(advance_removals)
        self._cut_off.clear()
        for _ in range(_HEALING_ROUNDS):
            before = self._cluster.next_offset
            for broker_id in range(1, _BROKERS + 1):
                broker = self._cluster.image.broker(broker_id)
                is_running = broker_id in self._running and broker is not None
                if not is_running or (broker and broker.in_controlled_shutdown):
                    self._cluster.now_ms += 9_001  # the session of the process before must end
                    self._start(broker_id)
                self._cluster.heartbeat(broker_id)
                self._report_of(broker_id, lambda: True)
            for partition in self._partitions():
                self._catch_up(partition)
            self._cluster.decide(advance_removals)
            if self._cluster.next_offset == before or self.problems:
                break
        else:
            self.problems.append("it never comes to rest")
        self.problems.extend(self._left_over())

    def _catch_up(self, partition: Partition) -> None:
        if partition.leader == NO_LEADER or partition.mode == NONE:
            return
        if partition.leader_recovery_state:
            self._alter(partition, [partition.leader])
        elif set(partition.isr) != set(partition.replicas):
            self._alter(partition, partition.replicas)

    def _left_over(self) -> list[str]:
        """Return everything that should have completed, but did not."""
        image = self._cluster.image
        found = [str(violation) for violation in check_image(image)]
        found += [f"still to be removed: {removal}" for removal in image.pending_removals()]
        found += [f"still tracked: {deletion}" for deletion in image.replica_deletions()]
        for partition in self._partitions():
            if partition.adding_replicas or partition.removing_replicas:
                found.append(f"still moving: {partition}")
            if partition.leader == NO_LEADER:
                found.append(f"no leader, with all brokers back: {partition}")
        return found


def _name(rng: Random) -> str:
    return f"topic.{rng.randrange(_TOPICS)}"


_OPERATIONS: tuple[tuple[int, Callable[[Schedule, Random], None]], ...] = (
    (10, Schedule._broker),
    (1, Schedule._unregister),
    (14, Schedule._time),
    (14, Schedule._timers),
    (3, Schedule._fail_over),
    (2, Schedule._rules),
    (16, Schedule._isr),
    (4, Schedule._late_isr),
    (8, Schedule._report),
    (8, Schedule._create),
    (2, Schedule._delete),
    (3, Schedule._grow),
    (6, Schedule._shrink),
    (2, Schedule._cancel_shrink),
    (8, Schedule._move),
    (3, Schedule._replication),
    (3, Schedule._elect),
    (4, Schedule._namespace),
)
