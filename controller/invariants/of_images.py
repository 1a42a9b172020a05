"""Invariants of an image, except those of its partitions."""

from collections import Counter
from collections.abc import Iterator

from controller.decisions.names import TIER_SEPARATOR, tiers
from controller.decisions.partitions.replica_deletions import deletion_states
from controller.decisions.partitions.replica_states import (
    DELETION_INELIGIBLE,
    DELETION_STARTED,
    DELETION_SUCCESSFUL,
    REPLICAS,
)
from records.base import ZERO_UUID, Uuid
from records.text import uuid_text
from replay.image.configs import NAMESPACE, TOPIC
from replay.image.metadata import MetadataImage
from replay.image.partitions import NONE

Findings = Iterator[str]


def names_are_unique(image: MetadataImage) -> Findings:
    """C1: the names of a namespace's topics are unique, and so are the names of namespaces."""
    for topic in image.topics():
        if image.topic_by_name(topic.name, topic.namespace_id) != topic:
            yield f"topic {topic.name!r} of id {uuid_text(topic.topic_id)} is not found by its name"
    for namespace in image.namespaces():
        if image.namespace_by_name(namespace.name) != namespace:
            yield f"namespace {namespace.name!r} is not found by its name"


def ids_are_unique(image: MetadataImage) -> Findings:
    """C2: ids of topics and namespaces are unique; none is zero (reserved) or starts with '-'."""
    for topic in image.topics():
        count = 1 if image.namespace(topic.topic_id) is None else 2
        if count > 1 or _is_reserved(topic.topic_id):
            yield f"id {uuid_text(topic.topic_id)} of {count} topics and namespaces"
    for namespace in image.namespaces():
        id_ = namespace.namespace_id
        if image.topic(id_) is None and _is_reserved(id_):
            yield f"id {uuid_text(id_)} of 1 topics and namespaces"


def _is_reserved(id_: Uuid) -> bool:
    # The first character of the text stands for the first 6 bits; that of 62 is '-'.
    return id_ == ZERO_UUID or id_[0] >> 2 == 62


def namespaces_have_parents(image: MetadataImage) -> Findings:
    """C3: every tier above a namespace exists, and so does the namespace of every topic."""
    for namespace in image.namespaces():
        for tier in tiers(namespace.name):
            if image.namespace_by_name(tier) is None:
                yield f"namespace {namespace.name!r} exists, {tier!r} does not"
    for topic in image.topics():
        if topic.namespace_id is not None and image.namespace(topic.namespace_id) is None:
            yield f"topic {topic.name!r} lies in a namespace that does not exist"
        if TIER_SEPARATOR in topic.name:
            yield f"topic {topic.name!r} has a namespace in its own name"


def configs_are_of_topics_that_exist(image: MetadataImage) -> Findings:
    """C4: every topic or namespace that has configs exists (it was not deleted or renamed)."""
    for (resource_type, name), _ in image.configs():
        if resource_type == TOPIC and image.topic_by_full_name(name) is None:
            yield f"configs of topic {name!r}, which does not exist"
        if resource_type == NAMESPACE and image.namespace_by_name(name) is None:
            yield f"configs of namespace {name!r}, which does not exist"


def removals_are_of_partitions_that_exist(image: MetadataImage) -> Findings:
    """C5: every partition with a pending removal exists."""
    for removal in image.pending_removals():
        if image.partition(removal.topic_id, removal.partition_id) is None:
            yield (
                f"partition {removal.partition_id} of {uuid_text(removal.topic_id)} is to be "
                "removed, and does not exist"
            )


def deletions_are_under_way(image: MetadataImage) -> Findings:
    """C6: each tracked replica deletion is in one of three states, and its partition has mode NONE.

    The states are ReplicaDeletionStarted, ReplicaDeletionSuccessful and ReplicaDeletionIneligible.
    The deletion is of one of the partition's replicas.
    """
    for (topic_id, partition_id, broker_id), state in deletion_states(image).items():
        who = f"replica {broker_id} of partition {partition_id} of {uuid_text(topic_id)}"
        if state not in (DELETION_STARTED, DELETION_SUCCESSFUL, DELETION_INELIGIBLE):
            yield f"{who} is tracked as {REPLICAS.name(state)}"
        partition = image.partition(topic_id, partition_id)
        if partition is not None and partition.mode != NONE:
            yield f"{who} is deleted while the partition has mode {partition.mode}"
        if partition is not None and broker_id not in partition.replicas:
            yield f"{who} is deleted and was none"


def removals_end(image: MetadataImage) -> Findings:
    """C7: partitions of a topic are being removed only while some replicas are not deleted."""
    states = deletion_states(image)
    for topic_id in {removal.topic_id for removal in image.pending_removals()}:
        leaving = [
            image.partition(topic_id, removal.partition_id)
            for removal in image.pending_removals(topic_id)
        ]
        if all(
            partition is not None
            and partition.mode == NONE
            and all(
                states.get((topic_id, partition.partition_id, broker_id)) == DELETION_SUCCESSFUL
                for broker_id in partition.replicas
            )
            for partition in leaving
        ):
            yield f"all leaving replicas of {uuid_text(topic_id)} are deleted, and still there"


def broker_epochs_are_unique(image: MetadataImage) -> Findings:
    """C8: no two brokers share an epoch, the offset of their registration."""
    epochs = Counter(broker.broker_epoch for broker in image.brokers())
    for epoch, count in epochs.items():
        if count > 1:
            yield f"{count} brokers have epoch {epoch}"


def directories_belong_to_one_broker(image: MetadataImage) -> Findings:
    """C9: no log directory is on two brokers."""
    owners = Counter(directory for broker in image.brokers() for directory in broker.log_dirs)
    for directory, count in owners.items():
        if count > 1:
            yield f"{count} brokers have log directory {uuid_text(directory)}"


OF_IMAGES = (
    names_are_unique,
    ids_are_unique,
    namespaces_have_parents,
    configs_are_of_topics_that_exist,
    removals_are_of_partitions_that_exist,
    deletions_are_under_way,
    removals_end,
    broker_epochs_are_unique,
    directories_belong_to_one_broker,
)
"""All checks of an image: each takes one and yields findings."""
