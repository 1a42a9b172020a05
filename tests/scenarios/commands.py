"""Runs the lines of a scenario: one function per verb; here those of topics and partitions."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from controller.authorization.caller import Caller
from controller.decisions.brokers.isr_proposals import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.configs.changes import (
    ConfigChange,
    Operation,
)
from controller.decisions.partitions.assignments import Assignment
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
from controller.decisions.topics.alterations import AlterTopics, TopicAlteration, alter_topics
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.topics.partition_removal import (
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
from records.base import ZERO_UUID
from records.configs import FeatureLevelRecord
from records.envelope import Origin
from records.errors import RequestError
from tests.controller.cluster import Cluster, assigned
from tests.scenarios import access, brokers, config_verbs, tenancy, users


def run(cluster: Cluster, line: str) -> list[str]:
    """Execute a line; return a line for each refusal, each warning and each answer."""
    verb, *words = line.split()
    arguments = [word for word in words if "=" not in word]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    cluster.records = ()
    try:
        results = _VERBS[verb](cluster, *arguments, **options)
    except RequestError as error:
        return [f"refused {error.code}"]
    said = []
    for result in results if isinstance(results, tuple) else [results]:
        if isinstance(result, str):
            said.append(result)
        if getattr(result, "refusal", None) is not None:
            said.append(f"refused {result.refusal.code}")
        said += [f"warned {s.group}" for s in getattr(result, "subscriptions", None) or ()]
    return said


def _set_level(cluster: Cluster, **levels: str) -> None:
    """Write feature levels directly, like an older release."""
    cluster.write(
        [FeatureLevelRecord(name=name, feature_level=int(level)) for name, level in levels.items()]
    )


def _ask_as(cluster: Cluster, user: str, client: str = "cli") -> None:
    """Send all following requests as a user, through a client."""
    cluster.asker = Origin(principal=f"User:{user}", client=f"{client} at 127.0.0.1:5000")
    cluster.caller = Caller(principal=f"User:{user}")


def _fail_over(cluster: Cluster) -> None:
    cluster.fail_over()


def _wait(cluster: Cluster, duration_ms: str) -> None:
    cluster.now_ms += int(duration_ms)


def _create_topic(
    cluster: Cluster,
    name: str,
    replicas: str = "",
    *,
    partitions: str = "-1",
    rf: str = "-1",
    placement: str | None = None,
    **configs: str,
) -> Any:
    """`replicas` such as 1:2,2:3: one list per partition."""
    topic = NewTopic(
        name=name,
        partitions=int(partitions),
        replication_factor=int(rf),
        assignments=assigned(*_replica_lists(replicas)),
        configs=tuple(configs.items()),
    )
    return cluster.do(create_topics, CreateTopics(topics=(topic,), placement=placement))


def _delete_topic(cluster: Cluster, *names: str) -> Any:
    """`@nobody` stands for an id that no topic has."""
    refs = tuple([ZERO_UUID if name == "@nobody" else name for name in names])
    return cluster.do(delete_topics, DeleteTopics(topics=refs))


def _add_partitions(
    cluster: Cluster, name: str, count: str, replicas: str = "", *, placement: str | None = None
) -> Any:
    """`replicas`: those of the new partitions."""
    named = tuple([tuple(ids) for ids in _replica_lists(replicas)])
    growth = TopicGrowth(topic=name, partitions=int(count), assignments=named or None)
    request = CreatePartitions(topics=(growth,), placement=placement)
    return cluster.do(create_partitions, request)


def _alter_topic(
    cluster: Cluster,
    name: str,
    *deleted: str,
    partitions: str = "-1",
    rf: str = "-1",
    replicas: str = "",
    delay: str = "0",
    **configs: str,
) -> Any:
    """`replicas` by partition, such as 0/1:2,1/2:3; a name without a value is a config to
    delete.
    """
    assignments = []
    for item in filter(None, replicas.split(",")):
        partition_id, _, ids = item.partition("/")
        assignments.append(Assignment(int(partition_id), tuple(map(int, ids.split(":")))))
    changes = [ConfigChange(key, value) for key, value in configs.items()]
    changes += [ConfigChange(key, operation=Operation.DELETE) for key in deleted]
    alteration = TopicAlteration(
        topic=name,
        partitions=int(partitions),
        replication_factor=int(rf),
        assignments=tuple(assignments),
        configs=tuple(changes),
    )
    request = AlterTopics(topics=(alteration,), delete_partitions_delay_ms=int(delay))
    return cluster.do(alter_topics, request)


def _reassign(cluster: Cluster, *targets: str, rf: str = "any") -> Any:
    """Targets such as orders-0/2:3; orders-0 without replicas cancels its reassignment."""
    partitions = []
    for target in targets:
        which, _, ids = target.partition("/")
        name, _, partition_id = which.rpartition("-")
        broker_ids = tuple(map(int, ids.split(":"))) if ids else None
        partitions.append(
            PartitionTarget(topic=name, partition_id=int(partition_id), broker_ids=broker_ids)
        )
    request = AlterReassignments(partitions=tuple(partitions), allow_rf_change=rf == "any")
    return cluster.do(alter_reassignments, request)


def _alter_isr(
    cluster: Cluster,
    which: str,
    *,
    isr: str,
    sender: str = "",
    recovery: str = "0",
    epoch: str = "",
    leader_epoch: str = "",
    broker_epoch: str = "",
    member_epoch: str = "-1",
    topic: str = "",
) -> Any:
    """By default the leader sends the request, with the current epochs."""
    name, _, partition_id = which.rpartition("-")
    partition = cluster.partition(name, int(partition_id))
    broker_id = int(sender) if sender else partition.leader
    alteration = PartitionAlteration(
        topic_id=ZERO_UUID if topic == "unknown" else partition.topic_id,
        partition_id=99 if topic == "smaller" else partition.partition_id,
        leader_epoch=int(leader_epoch) if leader_epoch else partition.leader_epoch,
        partition_epoch=int(epoch) if epoch else partition.partition_epoch,
        new_isr=tuple([IsrMember(int(m), int(member_epoch)) for m in isr.split(",")]),
        leader_recovery_state=int(recovery),
    )
    request = AlterPartition(
        broker_id=broker_id,
        broker_epoch=int(broker_epoch) if broker_epoch else cluster.broker(broker_id).broker_epoch,
        partitions=(alteration,),
    )
    return cluster.do(alter_partition, request)


def _elect(cluster: Cluster, how: str, *partitions: str) -> Any:
    named = [which.rpartition("-") for which in partitions]
    request = ElectLeaders(
        partitions=tuple([(name, int(partition_id)) for name, _, partition_id in named]),
        unclean=how == "unclean",
    )
    return cluster.do(elect_leaders, request)


def _balance(cluster: Cluster) -> None:
    cluster.decide(balance_leaders)


def _sweep(cluster: Cluster) -> None:
    cluster.decide(elect_unclean_leaders)


def _configure_statically(cluster: Cluster, **configs: str) -> None:
    """Set configs in the controller's configuration file."""
    cluster.settings = replace(
        cluster.settings, static_configs={**cluster.settings.static_configs, **configs}
    )


def _shrink(cluster: Cluster, name: str, partitions: str, delay: str = "0") -> Any:
    request = DeletePartitions(
        topics=(TopicShrink(topic=name, partitions=int(partitions)),), delay_ms=int(delay)
    )
    return cluster.do(delete_partitions, request)


def _cancel_shrink(cluster: Cluster, name: str) -> None:
    cluster.do(cancel_delete_partitions, name)


def _advance(cluster: Cluster) -> None:
    cluster.decide(advance_removals)


def _replica_lists(text: str) -> list[list[int]]:
    return [list(map(int, ids.split(":"))) for ids in text.split(",") if ids]


_VERBS: dict[str, Callable[..., Any]] = {
    **brokers.VERBS,
    **users.VERBS,
    **tenancy.VERBS,
    **access.VERBS,
    **config_verbs.VERBS,
    "set-level": _set_level,
    "ask-as": _ask_as,
    "fail-over": _fail_over,
    "wait": _wait,
    "create-topic": _create_topic,
    "delete-topic": _delete_topic,
    "add-partitions": _add_partitions,
    "alter-topic": _alter_topic,
    "reassign": _reassign,
    "alter-isr": _alter_isr,
    "elect": _elect,
    "balance-leaders": _balance,
    "elect-unclean-leaders": _sweep,
    "static-configs": _configure_statically,
    "shrink": _shrink,
    "cancel-shrink": _cancel_shrink,
    "advance-removals": _advance,
}
