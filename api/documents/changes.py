"""JSON form of the results of commands that change a cluster.

There is one type per kind of item, and one for the fields common to all results.
"""

from collections.abc import Sequence
from typing import Any, Self

import msgspec
from msgspec import UNSET, UnsetType

from api.documents.acls import Acl
from api.documents.errors import Error
from controller.decisions.security.acls import AclBinding
from controller.decisions.topics.alterations import AlterationResult
from controller.decisions.topics.partition_plan import PartitionPlan
from controller.decisions.topics.subscriptions import Subscription
from controller.decisions.topics.topics import TopicResult
from controller.results.changed_versions import ObjectVersion
from records.base import Uuid
from records.text import uuid_text

Warnings = Sequence[Subscription] | UnsetType | None
"""Subscriptions that match; None: there were too many to look at; not set: none matches."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a command.

    Attributes:
        committed_at: Offset of the command's last record; None if nothing was written.
        versions: New versions of the changed objects, as used by `append --expect`; None if
            unknown.
    """

    committed_at: int | None
    validated_only: bool
    versions: tuple[ObjectVersion, ...] | None


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a command, one per item: the item's fields and those of its `ItemError`."""

    results: tuple[dict[str, Any], ...]


class ItemError(msgspec.Struct, frozen=True, kw_only=True):
    """The error of an item that was refused; None if the item was accepted."""

    error: Error | None


class Matched(msgspec.Struct, frozen=True, kw_only=True):
    """Subscriptions whose patterns match new topic names."""

    subscriptions: Warnings = UNSET

    @classmethod
    def of(cls, found: Sequence[Subscription] | None) -> Self:
        """Return a warning about subscriptions in its JSON form."""
        return cls(subscriptions=warnings_of(found))


class Nothing(msgspec.Struct, frozen=True, kw_only=True):
    """An item that has no fields except those of its error."""


class TopicCreated(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that was created; `topic_id` is None if it was only validated."""

    name: str
    topic_id: str | None
    partitions: int
    replication_factor: int
    subscriptions: Warnings = UNSET

    @classmethod
    def of(cls, result: TopicResult) -> Self:
        """Return the JSON form of a topic's creation."""
        return cls(
            name=result.name,
            topic_id=_id(result.topic_id),
            partitions=result.partitions,
            replication_factor=result.replication_factor,
            subscriptions=warnings_of(result.subscriptions),
        )


class TopicDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that was deleted."""

    name: str
    topic_id: str | None

    @classmethod
    def of(cls, result: TopicResult) -> Self:
        """Return the JSON form of a topic's deletion."""
        return cls(name=result.name, topic_id=_id(result.topic_id))


class LeavingPartition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition that would be removed by a smaller partition count."""

    partition: int
    leader: int
    replicas: tuple[int, ...]


class TopicAltered(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that was altered; if requested, with the effects of a new partition count.

    `due` is the time from which the `leaving` partitions can no longer be read, ms since 1970.
    """

    name: str
    topic_id: str | None
    instruction: str | None
    partitions_before: int | UnsetType = UNSET
    leaving: tuple[LeavingPartition, ...] | UnsetType = UNSET
    due: int | UnsetType | None = UNSET
    is_compacted: bool | UnsetType = UNSET
    warnings: tuple[str, ...] | UnsetType = UNSET

    @classmethod
    def of(cls, result: AlterationResult, plan: PartitionPlan | None) -> Self:
        """Return the JSON form of a topic's alteration."""
        altered = cls(
            name=result.name,
            topic_id=_id(result.topic_id),
            instruction=None if result.instruction is None else result.instruction.value,
        )
        if plan is None or plan.refusal is not None:
            return altered
        leaving = [
            LeavingPartition(partition=p.partition_id, leader=p.leader, replicas=p.replicas)
            for p in plan.leaving
        ]
        return msgspec.structs.replace(
            altered,
            partitions_before=plan.partitions_now,
            leaving=tuple(leaving),
            due=plan.due_ms,
            is_compacted=plan.is_compacted,
            warnings=plan.warnings,
        )


class TopicNamed(msgspec.Struct, frozen=True, kw_only=True):
    """A topic, identified by its name."""

    topic: str


class NamespaceNamed(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace, identified by its name."""

    namespace: str


class BrokerNamed(msgspec.Struct, frozen=True, kw_only=True):
    """A broker, identified by its id; `broker_epoch` is set if the command registered it."""

    broker: int
    broker_epoch: int | UnsetType = UNSET


class PartitionElected(msgspec.Struct, frozen=True, kw_only=True):
    """A partition for which a leader election was requested."""

    topic: str
    partition: int


class PartitionMoved(msgspec.Struct, frozen=True, kw_only=True):
    """A partition and the replicas requested for it; None: its reassignment is cancelled."""

    topic: str
    partition: int
    replicas: tuple[int, ...] | None


class ConfigsAltered(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the configs of a resource that a command changed, and of those it deleted.

    `topics_changed` is the number of topics that inherit the change.
    """

    resource: str
    configs: tuple[str, ...]
    deleted: tuple[str, ...]
    topics_changed: int | None


class AclAltered(Acl, frozen=True, kw_only=True):
    """An ACL entry; `created` is false if the same entry already existed."""

    created: bool | UnsetType = UNSET

    @classmethod
    def made(cls, acl: AclBinding, acl_id: Uuid | None, *, created: bool) -> Self:
        """Return the JSON form of a created ACL entry; it has no id if it was only validated."""
        return msgspec.structs.replace(cls.of(acl), acl=_id(acl_id), created=created)


class FeatureLevel(msgspec.Struct, frozen=True, kw_only=True):
    """A feature and its new level."""

    feature: str
    level: int


class UserAltered(msgspec.Struct, frozen=True, kw_only=True):
    """A user, and the SCRAM credential that the command set, if it set one."""

    user: str
    mechanism: str | UnsetType = UNSET
    iterations: int | UnsetType = UNSET


class TokenExpires(msgspec.Struct, frozen=True, kw_only=True):
    """The time at which a token expires, ms since 1970."""

    expiration_timestamp: int


class StepDone(msgspec.Struct, frozen=True, kw_only=True):
    """The command and response of one step of a transaction."""

    command: str
    response: Any


def warnings_of(found: Sequence[Subscription] | None) -> Warnings:
    """Return the subscriptions to warn about; UNSET if the list is empty."""
    return UNSET if found is not None and not found else found


def _id(topic_id: Uuid | None) -> str | None:
    return None if topic_id is None else uuid_text(topic_id)
