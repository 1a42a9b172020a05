"""Finds the replica for a request, and checks that the replica may be read or written.

A topic id in a request is checked against the data on disk, not only against the metadata. Reads of
a deleted topic are therefore rejected even before the broker learns of the deletion.

Source: KIP-516 (fencing by topic id), KIP-694 (modes).
"""

from collections.abc import Callable
from typing import Protocol

from api.broker.cluster import Cluster
from api.broker.record_rules import DEFAULT_RULES, RecordRules
from api.broker.replica import Replica
from api.broker.replicas import Replicas
from api.kafka.metadata import may_see
from controller.authorization.authorizer import CLUSTER, Access, Operation, topic_resource
from records.base import ZERO_UUID, Uuid
from records.errors import RequestError
from records.text import uuid_text
from replay.image.partitions import NONE, READ_WRITE

Sees = Callable[[str], bool]
"""Returns True if the sender of a request may know of the topic with this name."""


def _all(_: str) -> bool:
    return True


class Fence(Protocol):
    """Finds the replica for a request; raises RequestError if it is missing or inaccessible."""

    def topic_name(self, topic_id: Uuid) -> str | None:
        """Return the full name of a topic; None if the id is unknown."""

    def replica(self, name: str, topic_id: Uuid, partition: int, sees: Sees = _all) -> Replica:
        """Return the requested replica.

        Args:
            sees: Returns True if the sender may know of the topic with this name.
        """

    def check_readable(self, name: str, partition: int) -> None:
        """Raise RequestError if the partition's mode allows neither reads nor writes."""

    def check_writable(self, name: str, partition: int) -> None:
        """Raise RequestError if the partition's mode does not allow writes."""

    def record_rules(self, name: str) -> RecordRules:
        """Return the topic's rules for new records."""


class NoReplicas:
    """The fence of a node without replicas, such as the controller; it refuses every request.

    With this fence, the node's listener lists the requests about records as supported. Clients that
    connect to the node first need that: from the node they learn the API versions for the whole
    cluster, and the brokers' addresses.
    """

    def __init__(self, topic_name: Callable[[Uuid], str | None] = lambda _: None) -> None:
        """Create the fence.

        Args:
            topic_name: Returns the full name of the topic with an id, or None.
        """
        self._topic_name = topic_name

    def topic_name(self, topic_id: Uuid) -> str | None:
        """Return the full name of a topic; None if the id is unknown."""
        return self._topic_name(topic_id)

    def replica(self, name: str, topic_id: Uuid, partition: int, sees: Sees = _all) -> Replica:
        """Raise, because this node leads no partition.

        Raises:
            RequestError: NOT_LEADER_OR_FOLLOWER.
        """
        raise RequestError("NOT_LEADER_OR_FOLLOWER", f"this node does not lead {name}-{partition}")

    def check_readable(self, name: str, partition: int) -> None:
        """Do nothing; `replica` has already refused the request."""

    def check_writable(self, name: str, partition: int) -> None:
        """Do nothing; `replica` has already refused the request."""

    def record_rules(self, name: str) -> RecordRules:
        """Return the default; `replica` has already refused the request."""
        return DEFAULT_RULES


TopicCheck = Callable[[Access, str], bool]
"""Returns True if a caller may do the requested operation on the topic with this name."""


def may(operation: Operation) -> TopicCheck:
    """Return a function that returns True if the caller may do `operation` on a topic."""
    return lambda access, name: access.allows(operation, topic_resource(name))


def may_replicate(access: Access, _: str) -> bool:
    """True if the caller may copy any topic, as brokers may."""
    return access.allows(Operation.CLUSTER_ACTION, CLUSTER)


class AuthorizedFence:
    """Wraps a fence for one request: checks the caller's rights on a topic first.

    The id of a topic that the caller may not describe counts as unknown. The caller may know the id
    from a time when the topic was in another namespace, and must learn neither the new name nor
    whether the topic still exists.
    """

    def __init__(self, fence: Fence, access: Access, is_allowed: TopicCheck) -> None:
        self._fence = fence
        self._access = access
        self._is_allowed = is_allowed
        self._checked: dict[str, bool] = {}

    def topic_name(self, topic_id: Uuid) -> str | None:
        """Return the full name of a topic; None if the caller may not know of it."""
        name = self._fence.topic_name(topic_id)
        return name if name is not None and self._sees(name) else None

    def replica(self, name: str, topic_id: Uuid, partition: int, sees: Sees = _all) -> Replica:
        """Check the caller's rights on the topic, and return the requested replica.

        Raises:
            RequestError: UNKNOWN_TOPIC_ID, the request has an unknown topic id and no name;
                TOPIC_AUTHORIZATION_FAILED; or an error of the wrapped fence.
        """
        if not name and topic_id != ZERO_UUID:
            raise RequestError("UNKNOWN_TOPIC_ID", f"no topic has the id {uuid_text(topic_id)}")
        if not self._allows(name):
            raise RequestError(
                "TOPIC_AUTHORIZATION_FAILED", f"{self._access.caller.principal} may not use {name}"
            )
        return self._fence.replica(name, topic_id, partition, self._sees)

    def _allows(self, name: str) -> bool:
        if name not in self._checked:
            self._checked[name] = self._is_allowed(self._access, name)
        return self._checked[name]

    def _sees(self, name: str) -> bool:
        return self._allows(name) or may_see(self._access, name)

    def check_readable(self, name: str, partition: int) -> None:
        """Raise RequestError if the partition's mode allows neither reads nor writes."""
        self._fence.check_readable(name, partition)

    def check_writable(self, name: str, partition: int) -> None:
        """Raise RequestError if the partition's mode does not allow writes."""
        self._fence.check_writable(name, partition)

    def record_rules(self, name: str) -> RecordRules:
        """Return the topic's rules for new records."""
        return self._fence.record_rules(name)


class Fencing:
    """The fence of a broker, which uses the broker's replicas and view of the cluster."""

    def __init__(self, replicas: Replicas, cluster: Cluster) -> None:
        self._replicas = replicas
        self._cluster = cluster

    def topic_name(self, topic_id: Uuid) -> str | None:
        """Return the full name of a topic; None if the id is unknown."""
        known = self._cluster.topic_of(topic_id)
        return None if known is None else known.name

    def replica(self, name: str, topic_id: Uuid, partition: int, sees: Sees = _all) -> Replica:
        """Return the requested replica.

        Args:
            topic_id: The zero id if the sender does not know the topic's id.
            sees: Returns True if the sender may know of the topic with this name.

        Raises:
            RequestError: UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION or
                NOT_LEADER_OR_FOLLOWER.
        """
        replica = self._replicas.get(name, partition)
        if topic_id != ZERO_UUID:
            self._check_id(name, topic_id, replica, sees)
        if replica is not None:
            return replica
        if self._cluster.partition(name, partition) is None:
            raise RequestError(
                "UNKNOWN_TOPIC_OR_PARTITION", f"there is no partition {name}-{partition}"
            )
        raise RequestError("NOT_LEADER_OR_FOLLOWER", f"{name}-{partition} is not on this broker")

    def check_readable(self, name: str, partition: int) -> None:
        """Check that the partition's mode is not NONE, which allows neither reads nor writes.

        Raises:
            RequestError: LEADER_NOT_AVAILABLE, the mode is NONE; NOT_LEADER_OR_FOLLOWER, this
                broker does not know the mode yet.
        """
        if self._mode(name, partition) == NONE:
            raise RequestError("LEADER_NOT_AVAILABLE", f"{name}-{partition} is being deleted")

    def check_writable(self, name: str, partition: int) -> None:
        """Check that the partition's mode allows writes.

        Raises:
            RequestError: POLICY_VIOLATION, the mode is READ_ONLY; or as `check_readable`.
        """
        self.check_readable(name, partition)
        if self._mode(name, partition) != READ_WRITE:
            raise RequestError(
                "POLICY_VIOLATION",
                f"{name}-{partition} is READ_ONLY, it will be deleted; write to other partitions",
            )

    def record_rules(self, name: str) -> RecordRules:
        """Return the topic's rules for new records, by the controller's last update."""
        return self._cluster.record_rules(name)

    def _mode(self, name: str, partition: int) -> int:
        state = self._cluster.partition(name, partition)
        if state is None:
            raise RequestError(
                "NOT_LEADER_OR_FOLLOWER", f"this broker does not know {name}-{partition} yet"
            )
        return state.mode

    def _check_id(self, name: str, topic_id: Uuid, replica: Replica | None, sees: Sees) -> None:
        here = ZERO_UUID if replica is None else replica.metadata.topic_id
        if here == topic_id:
            return
        known = self._cluster.topic_of(topic_id)
        if here == ZERO_UUID and known is not None and known.name == name:
            return
        if replica is None and (known is None or not sees(known.name)):
            raise RequestError("UNKNOWN_TOPIC_ID", f"no topic has the id {uuid_text(topic_id)}")
        raise RequestError(
            "INCONSISTENT_TOPIC_ID",
            f"{name} has the id {uuid_text(here)} here, the request says {uuid_text(topic_id)}",
        )
