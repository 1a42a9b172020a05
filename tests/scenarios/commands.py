"""What a scenario can do to its cluster: one function a verb."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from controller.authorization.caller import Caller
from controller.decisions.alter_partition import (
    AlterPartition,
    IsrMember,
    PartitionAlteration,
    alter_partition,
)
from controller.decisions.alter_topics import AlterTopics, TopicAlteration, alter_topics
from controller.decisions.assignments import Assignment
from controller.decisions.brokers import unregister_broker
from controller.decisions.configs import (
    ConfigChange,
    Operation,
)
from controller.decisions.controllers import RegisterController, register_controller
from controller.decisions.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.directory_assignment import (
    AssignReplicas,
    ReplicaDirectory,
    assign_replicas,
)
from controller.decisions.elections import (
    ElectLeaders,
    balance_leaders,
    elect_leaders,
    elect_unclean_leaders,
)
from controller.decisions.growth import CreatePartitions, TopicGrowth, create_partitions
from controller.decisions.heartbeats import fence_stale_broker
from controller.decisions.mutation_quotas import MUTATION_RATE
from controller.decisions.partition_removal import (
    DeletePartitions,
    TopicShrink,
    advance_removals,
    cancel_delete_partitions,
    delete_partitions,
)
from controller.decisions.quotas import AlterQuotas, EntityChange, QuotaChange, alter_quotas
from controller.decisions.reassignments import (
    AlterReassignments,
    PartitionTarget,
    alter_reassignments,
)
from controller.decisions.tokens import (
    SECRET_KEY,
    CreateToken,
    ExpireToken,
    RenewToken,
    create_token,
    expire_token,
    remove_expired_tokens,
    renew_token,
    token_hmac,
)
from controller.decisions.topics import (
    CreateTopics,
    DeleteTopics,
    NewTopic,
    create_topics,
    delete_topics,
)
from controller.decisions.users import (
    AlterUsers,
    Expected,
    ScramDeletion,
    ScramUpsertion,
    alter_users,
)
from records.base import ZERO_UUID, Uuid
from records.configs import ClientQuotaRecord, EntityData, FeatureLevelRecord
from records.envelope import Origin
from records.errors import RequestError
from records.partitions import PartitionChangeRecord
from tests.controller.cluster import FEATURES, Cluster, assigned, credential
from tests.scenarios import access, configuring, tenancy


def run(cluster: Cluster, line: str) -> list[str]:
    """Do what a line says; return a line for each refusal, each warning and each answer."""
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


def _brokers(cluster: Cluster, *broker_ids: str) -> None:
    cluster.add_brokers(*map(int, broker_ids))


def _register(
    cluster: Cluster,
    broker_id: str,
    *,
    process: str = "new",
    cluster_id: str = "",
    dirs: str = "",
    features: str = "all",
    clean: str = "",
) -> None:
    """`dirs` as numbers of directories, or `none`; `clean`: the epoch that it ended with.

    `features`: the names of those that it supports.
    """
    fields: dict[str, Any] = {}
    if process == "same":
        fields["incarnation_id"] = cluster.broker(int(broker_id)).incarnation_id
    if dirs:
        numbers = [] if dirs == "none" else dirs.split(",")
        fields["log_dirs"] = tuple([_directory(number) for number in numbers])
    if features != "all":
        fields["features"] = tuple([each for each in FEATURES if each.name in features.split(",")])
    if clean:
        fields["previous_broker_epoch"] = int(clean)
    if cluster_id:
        fields["cluster_id"] = cluster_id
    cluster.register(int(broker_id), **fields)


def _heartbeat(
    cluster: Cluster,
    broker_id: str,
    *wants: str,
    offset: str = "",
    epoch: str = "",
    lost: str = "",
) -> None:
    """`lost` are the numbers of directories that failed."""
    fields: dict[str, Any] = {f"want_{want}": True for want in wants}
    if offset:
        fields["metadata_offset"] = int(offset)
    if epoch:
        fields["broker_epoch"] = int(epoch)
    if lost:
        fields["offline_log_dirs"] = tuple([_directory(number) for number in lost.split(",")])
    cluster.heartbeat(int(broker_id), **fields)


def _directory(number: str) -> Uuid:
    """Directory 1001 is the one of broker 1, and so on."""
    return Uuid(int(number).to_bytes(16, "big"))


def _register_controller(cluster: Cluster, controller_id: str) -> None:
    request = RegisterController(
        controller_id=int(controller_id), incarnation_id=Uuid(cluster.rng.randbytes(16))
    )
    cluster.do(register_controller, request)


def _set_level(cluster: Cluster, **levels: str) -> None:
    """Write levels as they are, as an older release would have left them."""
    cluster.write(
        [FeatureLevelRecord(name=name, feature_level=int(level)) for name, level in levels.items()]
    )


def _ask_as(cluster: Cluster, user: str, client: str = "cli") -> None:
    """Let everything from now on be asked by a user, through a client."""
    cluster.asker = Origin(principal=f"User:{user}", client=f"{client} at 127.0.0.1:5000")
    cluster.caller = Caller(principal=f"User:{user}")


def _allow(cluster: Cluster, rate: str, **entity: str) -> None:
    """Write a quota of partitions a second; `user=` or `client=` without a name: the default."""
    kinds = {"user": "user", "client": "client-id"}
    record = ClientQuotaRecord(
        entity=tuple(
            [EntityData(entity_type=kinds[k], entity_name=v or None) for k, v in entity.items()]
        ),
        key=MUTATION_RATE,
        value=float(rate),
        remove=False,
    )
    cluster.write([record])


def _place_in(cluster: Cluster, which: str, *numbers: str) -> None:
    """Write down in which directory each replica of a partition is."""
    name, _, partition_id = which.rpartition("-")
    directories = tuple([_directory(number) for number in numbers])
    change = PartitionChangeRecord(
        topic_id=cluster.topic(name).topic_id,
        partition_id=int(partition_id),
        directories=directories,
    )
    cluster.write([change])


def _fail_over(cluster: Cluster) -> None:
    cluster.fail_over()


def _unregister(cluster: Cluster, broker_id: str) -> None:
    cluster.do(unregister_broker, int(broker_id))


def _wait(cluster: Cluster, duration_ms: str) -> None:
    cluster.now_ms += int(duration_ms)


def _fence_stale(cluster: Cluster) -> None:
    cluster.decide(fence_stale_broker)


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
    """`replicas` as in 1:2,2:3: a list a partition."""
    topic = NewTopic(
        name=name,
        partitions=int(partitions),
        replication_factor=int(rf),
        assignments=assigned(*_replica_lists(replicas)),
        configs=tuple(configs.items()),
    )
    return cluster.do(create_topics, CreateTopics(topics=(topic,), placement=placement))


def _delete_topic(cluster: Cluster, *names: str) -> Any:
    """`@nobody` is an id that no topic has."""
    refs = tuple([ZERO_UUID if name == "@nobody" else name for name in names])
    return cluster.do(delete_topics, DeleteTopics(topics=refs))


def _add_partitions(
    cluster: Cluster, name: str, count: str, replicas: str = "", *, placement: str | None = None
) -> Any:
    """`replicas` are those of the new partitions."""
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
    """`replicas` as in 0/1:2,1/2:3, by partition; a name without a value is a config to delete."""
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
    """Targets as in orders-0/2:3; orders-0 without replicas calls its move off."""
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
    """The leader asks, with the epochs of now, unless told otherwise."""
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


def _report_directories(
    cluster: Cluster, broker_id: str, *replicas: str, epoch: str = "", topic: str = ""
) -> Any:
    """`replicas` as orders-0:7001, with the number of a directory."""
    number = int(broker_id)
    places = []
    for each in replicas:
        which, _, directory = each.partition(":")
        name, _, partition_id = which.rpartition("-")
        topic_id = ZERO_UUID if topic == "unknown" else cluster.topic(name).topic_id
        places.append(
            ReplicaDirectory(
                topic_id=topic_id,
                partition_id=int(partition_id),
                directory=_directory(directory),
            )
        )
    request = AssignReplicas(
        broker_id=number,
        broker_epoch=int(epoch) if epoch else cluster.broker(number).broker_epoch,
        replicas=tuple(places),
    )
    return cluster.do(assign_replicas, request)


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


def _quota(cluster: Cluster, *words: str, **changes: str) -> Any:
    """`quota user/ann client-id/x KEY=1.5 OTHER=none`, where `user/` is the default one.

    A word `and` begins the next entity, with the same changes.
    """
    entities: list[list[tuple[str, str | None]]] = [[]]
    for word in words:
        kind, _, name = word.partition("/")
        if word == "and":
            entities.append([])
        elif kind != "nothing":
            entities[-1].append((kind, "" if name == "empty" else name or None))
    quotas = tuple(
        [QuotaChange(key, None if v == "none" else float(v)) for key, v in changes.items()]
    )
    request = AlterQuotas(
        entities=tuple([EntityChange(entity=tuple(e), changes=quotas) for e in entities])
    )
    return cluster.do(alter_quotas, request)


def _configure_statically(cluster: Cluster, **configs: str) -> None:
    """Set configs of the controller's file."""
    cluster.settings = replace(
        cluster.settings, static_configs={**cluster.settings.static_configs, **configs}
    )


def _create_token(cluster: Cluster, *renewers: str, owner: str = "", lifetime: str = "-1") -> None:
    request = CreateToken(owner=owner or None, renewers=renewers, max_lifetime_ms=int(lifetime))
    created = cluster.do(create_token, request)
    assert created.hmac == token_hmac(cluster.settings.static_configs[SECRET_KEY], created.token_id)


def _renew_token(cluster: Cluster, number: str, period: str = "-1", *, by: str = "hmac") -> None:
    cluster.do(renew_token, RenewToken(period_ms=int(period), **_token(cluster, number, by)))


def _expire_token(cluster: Cluster, number: str, period: str = "-1", *, by: str = "hmac") -> None:
    cluster.do(expire_token, ExpireToken(period_ms=int(period), **_token(cluster, number, by)))


def _token(cluster: Cluster, number: str, by: str) -> dict[str, Any]:
    """Name a token by its number; ids are given in order."""
    ids = sorted(token.token_id for token in cluster.image.delegation_tokens())
    token_id = ids[int(number) - 1] if int(number) <= len(ids) else "gone"
    if by == "id":
        return {"token_id": token_id}
    return {"hmac": token_hmac(cluster.settings.static_configs.get(SECRET_KEY, ""), token_id)}


def _remove_expired(cluster: Cluster) -> None:
    cluster.decide(remove_expired_tokens)


def _set_user(
    cluster: Cluster, *users: str, mechanism: str = "1", iterations: str = "4096", **fields: str
) -> Any:
    """`expected=absent` or `present`; `key=short` for keys of a wrong size; `none` is no name."""
    more: dict[str, Any] = {"stored_key": b"short"} if fields.pop("key", "") == "short" else {}
    if "salt" in fields:
        more["salt"] = b""
    if "expected" in fields:
        more["expected"] = Expected(fields["expected"])
    if mechanism not in "12":
        more |= {"salt": b"s", "stored_key": b"k", "server_key": b"k"}
    upsertions = tuple(
        [_credential("" if user == "none" else user, mechanism, iterations, more) for user in users]
    )
    return cluster.do(alter_users, AlterUsers(upsertions=upsertions))


def _credential(user: str, mechanism: str, iterations: str, more: dict[str, Any]) -> ScramUpsertion:
    known = credential(user, mechanism=int(mechanism) if mechanism in "12" else 1)
    return replace(known, mechanism=int(mechanism), iterations=int(iterations), **more)


def _delete_user(cluster: Cluster, *users: str, mechanism: str = "", twice: str = "") -> Any:
    """`twice`: a user that the same request also sets."""
    number = int(mechanism) if mechanism else None
    request = AlterUsers(
        deletions=tuple(
            [ScramDeletion(user="" if u == "none" else u, mechanism=number) for u in users]
        ),
        upsertions=(credential(twice),) if twice else (),
    )
    return cluster.do(alter_users, request)


def _shrink(cluster: Cluster, name: str, partitions: str, delay: str = "0") -> Any:
    request = DeletePartitions(
        topics=(TopicShrink(topic=name, partitions=int(partitions)),), delay_ms=int(delay)
    )
    return cluster.do(delete_partitions, request)


def _cancel_shrink(cluster: Cluster, name: str) -> None:
    cluster.do(cancel_delete_partitions, name)


def _advance(cluster: Cluster) -> None:
    cluster.decide(advance_removals)


def _report(cluster: Cluster, broker_id: str, which: str, outcome: str = "deleted") -> None:
    name, _, partition_id = which.rpartition("-")
    report = ReplicaReport(
        topic_id=cluster.topic(name).topic_id,
        partition_id=int(partition_id),
        deleted=outcome == "deleted",
    )
    request = ReportDeletions(
        broker_id=int(broker_id),
        broker_epoch=cluster.broker(int(broker_id)).broker_epoch,
        replicas=(report,),
    )
    cluster.do(report_deletions, request)


def _replica_lists(text: str) -> list[list[int]]:
    return [list(map(int, ids.split(":"))) for ids in text.split(",") if ids]


_VERBS: dict[str, Callable[..., Any]] = {
    **tenancy.VERBS,
    **access.VERBS,
    **configuring.VERBS,
    "brokers": _brokers,
    "register-broker": _register,
    "heartbeat": _heartbeat,
    "register-controller": _register_controller,
    "set-level": _set_level,
    "place-in": _place_in,
    "ask-as": _ask_as,
    "allow": _allow,
    "fail-over": _fail_over,
    "unregister-broker": _unregister,
    "wait": _wait,
    "fence-stale-broker": _fence_stale,
    "create-topic": _create_topic,
    "delete-topic": _delete_topic,
    "add-partitions": _add_partitions,
    "alter-topic": _alter_topic,
    "reassign": _reassign,
    "alter-isr": _alter_isr,
    "report-directories": _report_directories,
    "elect": _elect,
    "balance-leaders": _balance,
    "elect-unclean-leaders": _sweep,
    "quota": _quota,
    "static-configs": _configure_statically,
    "create-token": _create_token,
    "renew-token": _renew_token,
    "expire-token": _expire_token,
    "remove-expired-tokens": _remove_expired,
    "set-user": _set_user,
    "delete-user": _delete_user,
    "shrink": _shrink,
    "cancel-shrink": _cancel_shrink,
    "advance-removals": _advance,
    "report": _report,
}
