"""Verbs of scenarios for brokers and controllers: one function per verb."""

from collections.abc import Callable
from typing import Any

from controller.decisions.brokers.controllers import RegisterController, register_controller
from controller.decisions.brokers.deletion_reports import (
    ReplicaReport,
    ReportDeletions,
    report_deletions,
)
from controller.decisions.brokers.directory_assignment import (
    AssignReplicas,
    ReplicaDirectory,
    assign_replicas,
)
from controller.decisions.brokers.heartbeats import fence_stale_broker
from controller.decisions.brokers.registrations import unregister_broker
from records.base import ZERO_UUID, Uuid
from records.partitions import PartitionChangeRecord
from tests.controller.cluster import FEATURES, Cluster


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
    """`dirs`: numbers of directories, or `none`; `clean`: the broker epoch at the clean shutdown.

    `features`: the names of the supported features.
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
    """`lost`: the numbers of the directories that failed."""
    fields: dict[str, Any] = {f"want_{want}": True for want in wants}
    if offset:
        fields["metadata_offset"] = int(offset)
    if epoch:
        fields["broker_epoch"] = int(epoch)
    if lost:
        fields["offline_log_dirs"] = tuple([_directory(number) for number in lost.split(",")])
    cluster.heartbeat(int(broker_id), **fields)


def _register_controller(cluster: Cluster, controller_id: str) -> None:
    request = RegisterController(
        controller_id=int(controller_id), incarnation_id=Uuid(cluster.rng.randbytes(16))
    )
    cluster.do(register_controller, request)


def _place_in(cluster: Cluster, which: str, *numbers: str) -> None:
    """Record the directory of each replica of a partition."""
    name, _, partition_id = which.rpartition("-")
    directories = tuple([_directory(number) for number in numbers])
    change = PartitionChangeRecord(
        topic_id=cluster.topic(name).topic_id,
        partition_id=int(partition_id),
        directories=directories,
    )
    cluster.write([change])


def _unregister(cluster: Cluster, broker_id: str) -> None:
    cluster.do(unregister_broker, int(broker_id))


def _fence_stale(cluster: Cluster) -> None:
    cluster.decide(fence_stale_broker)


def _report_directories(
    cluster: Cluster, broker_id: str, *replicas: str, epoch: str = "", topic: str = ""
) -> Any:
    """`replicas` such as orders-0:7001, with the number of a directory."""
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


def _directory(number: str) -> Uuid:
    """Directory 1001 is the one of broker 1, and so on."""
    return Uuid(int(number).to_bytes(16, "big"))


VERBS: dict[str, Callable[..., Any]] = {
    "brokers": _brokers,
    "register-broker": _register,
    "heartbeat": _heartbeat,
    "register-controller": _register_controller,
    "place-in": _place_in,
    "unregister-broker": _unregister,
    "fence-stale-broker": _fence_stale,
    "report-directories": _report_directories,
    "report": _report,
}
