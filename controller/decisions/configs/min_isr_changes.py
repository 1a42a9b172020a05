"""Changes of min.insync.replicas while eligible leader replicas (ELR) are tracked.

Which replicas are eligible depends on the minimum, so it must not differ between brokers, and a new
minimum clears the ELR.

Source: ConfigurationControlManager of Kafka 4.1 (maybeGenerateElrSafetyRecords,
createClearElrRecordsAsNeeded); KIP-966; docs/kafka_rules.md, section 9.
"""

from collections.abc import Iterable, Iterator, Mapping

from controller.decisions.config_definitions.topics import MIN_ISR
from controller.decisions.configs.effective import BROKER, CLUSTER_DEFAULT
from controller.decisions.context.context import Context
from controller.decisions.names import TIER_SEPARATOR
from controller.results.refusals import invalid_config
from records.base import Record
from records.configs import ConfigRecord
from records.partitions import ClearElrRecord, PartitionChangeRecord
from replay.image.configs import NAMESPACE, TOPIC, ConfigResource
from replay.image.metadata import MetadataImage
from replay.image.topics import Topic


def safety_records(context: Context) -> list[ConfigRecord]:
    """Return the records that set one min.insync.replicas for the cluster, before ELRs are tracked.

    The cluster's default becomes the static value unless it is set; the values of single brokers
    are removed.
    """
    records = []
    if context.image.config_value(BROKER, CLUSTER_DEFAULT, MIN_ISR) is None:
        records.append(cluster_minimum(context.settings.static_number(MIN_ISR)))
    of_brokers = [
        name
        for (type_, name), configs in context.image.configs()
        if type_ == BROKER and name != CLUSTER_DEFAULT and MIN_ISR in configs
    ]
    records.extend(
        ConfigRecord(resource_type=BROKER, resource_name=name, name=MIN_ISR, value=None)
        for name in sorted(of_brokers, key=int)
    )
    return records


def cluster_minimum(number: int) -> ConfigRecord:
    """Return the record that sets the cluster's default min.insync.replicas."""
    return ConfigRecord(
        resource_type=BROKER, resource_name=CLUSTER_DEFAULT, name=MIN_ISR, value=str(number)
    )


def check_one_minimum(
    context: Context, resource: ConfigResource, new: Mapping[str, str | None]
) -> None:
    """Check that new configs keep one min.insync.replicas for the cluster while ELRs are tracked.

    Raises:
        RequestError: INVALID_CONFIG.
    """
    type_, name = resource
    if type_ != BROKER or MIN_ISR not in new or not context.elr_enabled:
        return
    if name != CLUSTER_DEFAULT:
        raise invalid_config(
            type_, f"{MIN_ISR} of one broker cannot be changed while ELR is enabled"
        )
    if new[MIN_ISR] is None:
        raise invalid_config(
            type_, f"{MIN_ISR} of the cluster cannot be removed while ELR is enabled"
        )


def cleared_elrs(context: Context, changes: Iterable[ConfigRecord]) -> list[Record]:
    """Return records that clear the ELRs of topics for which changes set min.insync.replicas."""
    if not context.elr_enabled:
        return []
    return [
        record
        for change in changes
        if change.name == MIN_ISR
        for record in _cleared(context.image, change.resource_type, change.resource_name)
    ]


def cleared_by_move(context: Context, topics: Iterable[Topic]) -> Iterator[Record]:
    """Yield the records that clear the ELRs of moved topics that inherit min.insync.replicas."""
    image = context.image
    for topic in topics if context.elr_enabled else ():
        if image.config_value(TOPIC, image.full_name(topic), MIN_ISR) is None:
            yield from _cleared_topic(image, topic)


def _cleared(image: MetadataImage, resource_type: int, name: str) -> Iterator[Record]:
    if resource_type == BROKER:
        yield ClearElrRecord(topic_name="")  # of all topics
    elif resource_type == NAMESPACE:
        for topic in _inheriting(image, name):
            yield from _cleared_topic(image, topic)
    elif resource_type == TOPIC:
        named = image.topic_by_full_name(name)
        if named is not None and named.namespace_id is None:
            yield ClearElrRecord(topic_name=name)
        elif named is not None:
            yield from _cleared_topic(image, named)


def _inheriting(image: MetadataImage, namespace: str) -> Iterator[Topic]:
    """Yield the topics in a namespace, and in those below it, that have no minimum of their own."""
    for below in image.namespaces():
        if f"{below.name}{TIER_SEPARATOR}".startswith(f"{namespace}{TIER_SEPARATOR}"):
            for topic in image.topics_in(below.namespace_id):
                if image.config_value(TOPIC, image.full_name(topic), MIN_ISR) is None:
                    yield topic


def _cleared_topic(image: MetadataImage, topic: Topic) -> Iterator[PartitionChangeRecord]:
    """Yield the records that clear a topic's ELRs by partition, without Kafka's ClearElrRecord.

    A ClearElrRecord gives only a name: it fits neither a topic in a namespace nor one that moves.
    """
    for partition in image.partitions(topic.topic_id):
        if partition.eligible_leader_replicas or partition.last_known_elr:
            yield PartitionChangeRecord(
                partition_id=partition.partition_id,
                topic_id=topic.topic_id,
                eligible_leader_replicas=() if partition.eligible_leader_replicas else None,
                last_known_elr=() if partition.last_known_elr else None,
            )
